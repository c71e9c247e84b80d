//! Law N9: what does not conform is refused with the right errno and leaves nothing behind; law L2: each time there is
//! one record that says which name, which byte, which rule. `fs::tests::offences` has more names and rules.

use rustix::io::Errno;

use crate::support::at::{self, Make};
use crate::support::audit::Record;
use crate::support::offending::OUT_OF_FORM;
pub(super) use crate::support::offending::{FORBIDDEN, ILL_FORMED, Row};
use crate::support::{Tree, show};

/// Makes each name by each operation, each in a directory of its own so that no record is left out (law L3), and
/// returns what the system said.
pub(super) fn make_all(
    tree: &Tree,
    options: &[&str],
    names: &[Vec<u8>],
) -> (Vec<Done>, Vec<Record>) {
    for number in 0..names.len() * Make::ALL.len() {
        let dir = tree.directory(format!("d{number}").as_bytes());
        at::write_new(&dir, Make::SOURCE, b"content").unwrap();
    }
    let mount = tree.mount(options);
    let mut done = Vec::new();
    for name in names {
        for make in Make::ALL {
            let dir = format!("d{}", done.len());
            let result = make.run(mount.sub(&dir), name);
            done.push((make, name.clone(), dir, result));
        }
    }
    (done, mount.stop())
}

/// The operation, the name, the directory, and what came of it.
pub(super) type Done = (Make, Vec<u8>, String, at::Result<()>);

/// The one record of an attempt.
pub(super) fn only_record<'r>(records: &'r [Record], (make, name, dir, _): &Done) -> &'r Record {
    let path = [b"/", dir.as_bytes(), b"/", name].concat();
    let mut of_it = records
        .iter()
        .filter(|record| record.name("path").as_ref() == Some(&path));
    let what = format!("{} of {}", make.label(), show(name));
    let record = of_it
        .next()
        .unwrap_or_else(|| panic!("no record of the {what}"));
    assert!(of_it.next().is_none(), "more than one record of the {what}");
    // The kernel looks a name up before all else, and what is too long for any name ends there.
    let operation = match record.text("rule") == "too-long" && name.len() > 255 {
        true => "lookup",
        false => make.label(),
    };
    assert_eq!(record.text("operation"), operation, "{what}");
    assert_eq!(record.name("name").as_ref(), Some(name), "{what}");
    record
}

pub(super) fn check_rule(record: &Record, &(name, rule, kind, offset, length, code_point): &Row) {
    let name = show(name);
    assert_eq!(record.text("rule"), rule, "{name}");
    assert_eq!(record.text("kind"), kind, "{name}");
    assert_eq!(record.number("offset"), offset, "{name}");
    assert_eq!(record.number("length"), length, "{name}");
    let spelled = code_point.map(|c| format!("U+{c:04X}"));
    assert_eq!(
        record.0["code_point"].as_str(),
        spelled.as_deref(),
        "{name}"
    );
}

pub(super) fn names_of(rows: &[Row]) -> Vec<Vec<u8>> {
    rows.iter().map(|row| row.0.to_vec()).collect()
}

/// Nothing is made, and what was there is as it was.
fn assert_untouched(tree: &Tree, dir: &str, what: &str) {
    let below = at::open_dir(tree.below_dir(), dir.as_bytes()).unwrap();
    assert_eq!(at::list(&below), [Make::SOURCE], "{what} left something");
    assert_eq!(at::read(&below, Make::SOURCE).unwrap(), b"content");
}

/// Every row by every operation: refused with `errno`, nothing left behind, one record.
fn assert_refused(options: &[&str], rows: &[Row], errno: Errno, symbol: &str) {
    let tree = Tree::new();
    let (done, records) = make_all(&tree, options, &names_of(rows));
    assert_eq!(records.len(), done.len(), "one record for each attempt");
    for (number, attempt) in done.iter().enumerate() {
        let row = &rows[number / Make::ALL.len()];
        let (make, name, dir, result) = attempt;
        let what = format!("{} of {}", make.label(), show(name));
        assert_eq!(*result, Err(errno), "{what}");
        assert_untouched(&tree, dir, &what);
        let record = only_record(&records, attempt);
        check_rule(record, row);
        assert_eq!(record.text("verdict"), "refused", "{what}");
        assert_eq!(record.text("errno"), symbol, "{what}");
        assert_eq!(record.name("backing"), None, "{what}");
    }
}

/// Law N9: EILSEQ for what is ill-formed, by every operation that makes a name.
#[test]
fn ill_formed_names_are_refused_by_every_operation() {
    assert_refused(&[], ILL_FORMED, Errno::ILSEQ, "EILSEQ");
}

/// Law N9: the options that say what is refused, and with which errno.
#[test]
fn refusals_are_as_the_options_say() {
    let ill_formed = &ILL_FORMED[..1];
    assert_refused(&["--errno", "einval"], ill_formed, Errno::INVAL, "EINVAL");
    assert_refused(&["--errno", "eperm"], ill_formed, Errno::PERM, "EPERM");
    assert_refused(&["--errno", "eilseq"], ill_formed, Errno::ILSEQ, "EILSEQ");
    let too_long = (Errno::NAMETOOLONG, "ENAMETOOLONG");
    let options = ["--errno", "enametoolong"];
    assert_refused(&options, ill_formed, too_long.0, too_long.1);
    let options = ["--profile", "portable"];
    assert_refused(&options, &FORBIDDEN[..1], Errno::ILSEQ, "EILSEQ");
    let options = ["--normalization", "nfc"];
    assert_refused(&options, &OUT_OF_FORM[..1], Errno::ILSEQ, "EILSEQ");
    let row = |name, kind, offset| [(name, "too-long", kind, offset, 1, None)];
    let longest: &'static [u8] = &[b'a'; 256];
    let options = ["--errno", "einval"];
    assert_refused(
        &options,
        &row(longest, "bytes", 255),
        too_long.0,
        too_long.1,
    );
    let long = &longest[..41];
    let options = ["--max-bytes", "40"];
    assert_refused(&options, &row(long, "bytes", 40), too_long.0, too_long.1);
    let options = ["--max-chars", "40"];
    assert_refused(&options, &row(long, "chars", 40), too_long.0, too_long.1);
}
