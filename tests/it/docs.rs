//! The documents: links, transcripts, the names of tests, the picture of the README.

use std::process::Command;

use crate::support::mount::binary;
use crate::support::needs;

/// `scripts/docs` finds nothing; as root it runs what the pages show.
#[test]
fn the_documents_say_what_the_program_does() {
    needs::root("the transcripts in the documents");
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/docs");
    let mut command = Command::new(script);
    let output = command.env("UTF8FS", binary()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
}
