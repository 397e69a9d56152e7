//! Seals the difference between two trees as the change set of a run.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use cofferdam_core::changes::manifest::{FORMAT, Header, ManifestWriter, Moment, Tree, VERSION};
use cofferdam_core::changes::{ChangePath, Content, ContentHash, Entry, FileNode, Node};
use cofferdam_testkit::TestEnv;
use serde_json::json;

/// Makes a run whose changes turn the workspace into `new`. The workspace stays as it is.
pub(crate) fn seal(env: &TestEnv, new: &Path) -> String {
    env.run(["run", "-q", "--sandbox", "local", "--", "true"]).assert_exit(0);
    let run = env.runs().pop().expect("there is a run");
    let dir = env.state_dir().join("runs").join(&run);
    let objects = dir.join("objects");
    fs::create_dir(&objects).unwrap();
    let header = Header {
        format: FORMAT.to_owned(),
        version: VERSION,
        run: run.parse().unwrap(),
        workspace: env.workspace().into(),
        tree: Tree::Workspace,
        base: Moment { seconds: i64::MAX, nanos: 0 },
        sealed_at: "2026-01-02T03:04:05.000006Z".parse().unwrap(),
    };
    let (old, new) = (nodes(&env.workspace(), None), nodes(new, Some(&objects)));
    let mut paths: Vec<&ChangePath> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let file = fs::File::create(dir.join("manifest")).unwrap();
    let mut manifest = ManifestWriter::begin(file, &header).unwrap();
    for path in paths {
        let mut before = old.get(path).cloned();
        let after = new.get(path).cloned();
        // What was modified is kept, as far as it is small; what was deleted is only known.
        if let (Some(Node::File(file)), Some(_)) = (&mut before, &after)
            && let Content::Known(hash) = file.content
            && file.size <= 4 << 20
        {
            let bytes = fs::read(env.workspace().join(path.as_path())).unwrap();
            fs::write(objects.join(hash.to_string()), bytes).unwrap();
            file.content = Content::Kept(hash);
        }
        if let Some(entry) = Entry::between(path.clone(), before, after) {
            manifest.push(&entry).unwrap();
        }
    }
    let (_, hash, summary) = manifest.finish().unwrap();
    let path = dir.join("record.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    record["changes"] = json!({
        "created": summary.created, "modified": summary.modified, "deleted": summary.deleted,
        "retyped": summary.retyped, "manifest": hash.to_string(),
    });
    fs::write(&path, record.to_string()).unwrap();
    run
}

fn nodes(top: &Path, objects: Option<&Path>) -> BTreeMap<ChangePath, Node> {
    let mut nodes = BTreeMap::new();
    let mut dirs = vec![top.to_owned()];
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            let meta = path.symlink_metadata().unwrap();
            let mode = meta.permissions().mode().into();
            let node = if meta.is_dir() {
                dirs.push(path.clone());
                Node::Directory { mode }
            } else if meta.is_symlink() {
                Node::Symlink { target: fs::read_link(&path).unwrap().into_os_string().into() }
            } else {
                let bytes = fs::read(&path).unwrap();
                let hash = ContentHash::of(&bytes);
                let content = match objects {
                    None => Content::Known(hash),
                    Some(objects) => {
                        fs::write(objects.join(hash.to_string()), &bytes).unwrap();
                        Content::Kept(hash)
                    }
                };
                Node::File(FileNode { mode, size: meta.len(), content, link: None })
            };
            let below = path.strip_prefix(top).unwrap();
            assert!(!below.as_os_str().as_bytes().is_empty());
            nodes.insert(ChangePath::new(below).unwrap(), node);
        }
    }
    nodes
}
