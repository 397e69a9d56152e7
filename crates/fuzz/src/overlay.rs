//! The reader of what an overlay left: an upper directory that somebody else filled.
//!
//! The bytes are steps by which [`ground`] makes a workspace and an upper directory, such as the kernel makes and such as
//! it never would. They are sealed as after a run, and [`claims`] are held against what came of it.

mod claims;
mod ground;

use cofferdam_core::changes::Entry;
use cofferdam_core::changes::manifest::Tree;
use cofferdam_sandbox::changes::halt::Halt;
use cofferdam_sandbox::changes::{ChangeSet, SealRequest, seal};
use cofferdam_sandbox::host::look_up;

use ground::Ground;

/// Every change is an entry, every entry is a change, and a sealing that is done again finds the same.
pub fn overlay(input: &[u8]) {
    let ground = Ground::new().expect("a place for trees");
    ground.fill(input);
    let entries = sealed(&ground);
    claims::hold(&ground, &entries);
    // As after a crash: contents are kept already, the manifest was not written.
    ground.forget_manifest().expect("the manifest can be removed");
    assert_eq!(sealed(&ground), entries);
}

fn sealed(ground: &Ground) -> Vec<Entry> {
    let request = SealRequest {
        run: "01jck4s8b7xgpz3m5t0v9yq2rd".parse().expect("an id"),
        dir: &ground.run,
        workspace: &look_up(&ground.workspace).expect("the workspace is there"),
        tree: Tree::Workspace,
        base: ground.now().expect("a mark can be made"),
        from: None,
        halt: &Halt::never(),
    };
    let sealed = seal::set(&request).expect("what an overlay left can be sealed");
    let mut set = ChangeSet::open(&ground.run, &sealed.hash.to_string()).expect("a set");
    let entries = set.entries().expect("its manifest can be read");
    entries.map(|entry| entry.expect("an entry as it was written")).collect()
}
