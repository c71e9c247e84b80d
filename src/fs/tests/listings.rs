//! Directories that others change while they are listed.

use std::time::Duration;

use super::{CALLER, Legacy, Plus, ROOT, Scratch, map};

/// Two names of one text: in IBM850, and in windows-1252, which is tried first but comes later in the order of bytes.
const IN_IBM850: &[u8] = b"c\x81\xE9";
const IN_WINDOWS: &[u8] = b"c\xFC\xDA";

fn scratch(names: &[&[u8]]) -> Scratch {
    Scratch::new(map(Legacy::Decode, &["windows-1252", "ibm850"]), names)
}

/// Hostile directories: names that give way to each other cost no reading of the directory each while others change it.
#[test]
fn names_that_want_the_same_text_do_not_cost_a_reading_each() {
    let names: Vec<Vec<u8>> = (0..40)
        .flat_map(|n| {
            [IN_IBM850, IN_WINDOWS].map(|name| [name, format!("{n}").as_bytes()].concat())
        })
        .collect();
    let names: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let scratch = scratch(&names);
    let handle = scratch.fs.opendir(CALLER, ROOT, 0).unwrap();
    let change = |_: super::super::Listed<'_>| {
        std::thread::sleep(Duration::from_millis(10));
        std::fs::rename(scratch.path(names[0]), scratch.path(b"moved")).unwrap();
        std::fs::rename(scratch.path(b"moved"), scratch.path(names[0])).unwrap();
        false
    };
    scratch.fs.readdir(handle, 0, Plus::No, change).unwrap();
    scratch.fs.releasedir(handle);
    let readings = scratch.fs.indexed.counts().readings;
    assert!(readings <= 4, "{readings} readings");
}
