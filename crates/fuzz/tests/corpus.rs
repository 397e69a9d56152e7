//! Every input that is kept, through its target: what made something break once never does again, and what once led
//! somewhere new still does not panic there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use cofferdam_fuzz::TARGETS;

/// All inputs together: they are cloned by everybody.
const LARGEST: u64 = 200_000;

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz")
}

fn listed(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap_or_else(|error| panic!("{}: {error}", dir.display()));
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
}

fn inputs(name: &str) -> Vec<PathBuf> {
    listed(&fuzz().join("corpus").join(name))
}

/// Runs a target with everything that is kept for it, and says which input it was.
fn feed(name: &str) {
    let (_, target) = TARGETS.iter().find(|(known, _)| *known == name).expect("a target");
    let inputs = inputs(name);
    assert!(inputs.len() >= 5, "{name} has {} inputs", inputs.len());
    for path in inputs {
        let bytes = fs::read(&path).expect("an input can be read");
        let run = std::panic::catch_unwind(|| target(&bytes));
        assert!(run.is_ok(), "{name} fails for {}", path.display());
    }
}

macro_rules! fed {
    ($($name:ident),+) => {$(
        #[test]
        fn $name() {
            feed(stringify!($name));
        }
    )+
        const FED: &[&str] = &[$(stringify!($name)),+];
    };
}

fed!(check, config, dockerfile, http, image, inert, journal, manifest, overlay, policy, shell);

#[test]
fn every_target_is_fed_has_a_corpus_and_is_built() {
    let names: BTreeSet<String> = TARGETS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let of = |dir: &str| -> BTreeSet<String> {
        let paths = listed(&fuzz().join(dir));
        paths.iter().filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned())).collect()
    };
    assert_eq!(of("corpus"), names);
    assert_eq!(of("fuzz_targets"), names);
    assert_eq!(FED.iter().map(|name| (*name).to_owned()).collect::<BTreeSet<_>>(), names);
}

#[test]
fn what_is_kept_is_small() {
    let size = |path: PathBuf| fs::metadata(path).expect("it is listed").len();
    let all: u64 = TARGETS.iter().flat_map(|(name, _)| inputs(name)).map(size).sum();
    assert!(all <= LARGEST, "{all} bytes of inputs; keep the smallest that lead somewhere");
}
