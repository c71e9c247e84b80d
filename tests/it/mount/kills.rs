//! Law N11: a daemon that is killed before any one of its system calls leaves exactly one entry under each visible name,
//! and no content is lost. strace(1) stands at each call in turn.

use std::collections::BTreeMap;

use rustix::fs::RenameFlags;

use crate::support::at;
use crate::support::strace::Strace;
use crate::support::{Mount, Tree, needs, show};

const HELD: &[u8] = "caf\u{E9}".as_bytes();
const HELD_BELOW: &[u8] = b"caf\xE9";

/// An operation onto a visible name that a legacy sibling holds, or with one.
struct Scenario {
    label: &'static str,
    run: fn(&Mount<'_>) -> at::Result<()>,
    /// What is there when it is done: contents by visible name.
    after: &'static [(&'static str, &'static [u8])],
}

const BEFORE: &[(&str, &[u8])] = &[("caf\u{E9}", b"legacy"), ("other", b"other")];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        label: "rename onto it",
        run: |mount| at::rename(mount.dir(), b"other", HELD),
        after: &[("caf\u{E9}", b"other")],
    },
    Scenario {
        label: "rename of it onto another",
        run: |mount| at::rename(mount.dir(), HELD, b"other"),
        after: &[("other", b"legacy")],
    },
    Scenario {
        label: "rename of it to a new name of the charset",
        run: |mount| at::rename(mount.dir(), HELD, "th\u{E9}".as_bytes()),
        after: &[("other", b"other"), ("th\u{E9}", b"legacy")],
    },
    Scenario {
        label: "exchange",
        run: |mount| at::rename_with(mount.dir(), b"other", HELD, RenameFlags::EXCHANGE),
        after: &[("caf\u{E9}", b"other"), ("other", b"legacy")],
    },
    Scenario {
        label: "unlink",
        run: |mount| at::unlink(mount.dir(), HELD),
        after: &[("other", b"other")],
    },
    Scenario {
        label: "exclusive create onto it, rename without replacing, mkdir, link, symlink",
        run: |mount| {
            let exists = |result: at::Result<()>| match result {
                Err(rustix::io::Errno::EXIST) => Ok(()),
                Err(error) => Err(error),
                Ok(()) => panic!("it is there"),
            };
            let dir = mount.dir();
            exists(at::create_new(dir, HELD).map(drop))?;
            exists(at::rename_with(dir, b"other", HELD, RenameFlags::NOREPLACE))?;
            exists(at::mkdir(dir, HELD))?;
            exists(at::link(dir, b"other", HELD))?;
            exists(at::symlink(b"x", dir, HELD))
        },
        after: BEFORE,
    },
    Scenario {
        label: "create of a name that the charset stores",
        run: |mount| at::write_new(mount.dir(), "na\u{EF}ve".as_bytes(), b""),
        after: &[
            ("caf\u{E9}", b"legacy"),
            ("na\u{EF}ve", b""),
            ("other", b"other"),
        ],
    },
];

fn contents(mount: &Mount<'_>) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let names = at::list(mount.dir());
    let number = names.len();
    let contents: BTreeMap<_, _> = names
        .into_iter()
        .map(|name| {
            let content = at::read(mount.dir(), &name).unwrap();
            (name, content)
        })
        .collect();
    assert_eq!(contents.len(), number, "no name is listed twice");
    contents
}

fn expected(entries: &[(&str, &[u8])]) -> BTreeMap<Vec<u8>, Vec<u8>> {
    let owned = |&(name, content): &(&str, &[u8])| (name.as_bytes().to_vec(), content.to_vec());
    entries.iter().map(owned).collect()
}

/// Kills before call after call, until the operation is done before the daemon gets that far.
fn kill_everywhere(scenario: &Scenario) {
    let options = ["--threads", "1", "--store-as", "iso-8859-1"];
    let mut done = false;
    let mut number = 1;
    while !done {
        let what = format!("{} killed before call {number}", scenario.label);
        let tree = Tree::in_memory();
        tree.file(HELD_BELOW, b"legacy");
        tree.file(b"other", b"other");
        let mut mount = tree.mount(&options);
        mount.dir();
        let inject = format!("inject=all:signal=KILL:when={number}");
        let killer = Strace::attach(&mount, &["-o", "/dev/null", "-e", &inject]);
        done = (scenario.run)(&mount).is_ok();
        drop(killer);
        mount.close();
        mount.kill();
        // What the kernel was told is all there is; another daemon sees it.
        let mut mount = tree.mount(&options);
        mount.allow_warning("is dead: its daemon was killed; taking it away");
        let found = contents(&mount);
        let (before, after) = (expected(BEFORE), expected(scenario.after));
        assert!(found == before || found == after, "{what}: {found:?}");
        assert!(!done || found == after, "{what}: {found:?}");
        let below: Vec<String> = at::sorted(tree.below_dir())
            .iter()
            .map(|name| show(name))
            .collect();
        assert_eq!(below.len(), found.len(), "{what}: {below:?}");
        mount.stop();
        number += 1;
        assert!(number < 500, "{what}: no end");
    }
    assert!(number > 3, "{}: nothing was killed", scenario.label);
}

#[test]
fn n11_a_kill_before_any_system_call_leaves_one_entry_under_each_name() {
    if !needs::root("killing the daemon at each of its system calls") {
        return;
    }
    std::thread::scope(|scope| {
        for scenario in SCENARIOS {
            scope.spawn(|| kill_everywhere(scenario));
        }
    });
}
