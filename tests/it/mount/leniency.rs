//! Law N9: what does not conform is normalized or only reported, where that is what was asked for; law L2: each time
//! there is one record of it.

use rustix::io::Errno;
use utf8fs::policy::Profile;

use super::offences::{FORBIDDEN, ILL_FORMED, Row, check_rule, make_all, names_of, only_record};
use crate::model::laws::{Legacy, OnViolation};
use crate::model::settings::Setting;
use crate::support::at::{self, Make};
use crate::support::{Tree, show};

/// Law N9, `normalize`: the conforming name is made instead, and one record says so.
#[test]
fn names_that_stand_for_a_conforming_one_are_normalized_by_every_operation() {
    let rows: [(&[u8], &[u8]); 6] = [
        (b"caf\xE9", "café".as_bytes()),
        (b"cafe\xCC\x81", "café".as_bytes()),
        (b"a\nb", b"a%0Ab"),
        (b"50%\n", b"50%25%0A"),
        (b"-rf", b"%2Drf"),
        (b"\x93x\x94", "“x”".as_bytes()),
    ];
    let tree = Tree::new();
    let options = "--on-violation normalize --from windows-1252 --profile safe --normalization nfc";
    let options: Vec<&str> = options.split(' ').collect();
    let names: Vec<Vec<u8>> = rows.iter().map(|row| row.0.to_vec()).collect();
    let (done, records) = make_all(&tree, &options, &names);
    assert_eq!(records.len(), done.len());
    for (number, attempt) in done.iter().enumerate() {
        let wanted = rows[number / Make::ALL.len()].1.to_vec();
        let (make, name, dir, result) = attempt;
        let what = format!("{} of {}", make.label(), show(name));
        assert_eq!(*result, Ok(()), "{what}");
        let below = at::open_dir(tree.below_dir(), dir.as_bytes()).unwrap();
        let mut expected = vec![wanted.clone()];
        if *make != Make::Rename {
            expected.push(Make::SOURCE.to_vec());
        }
        expected.sort();
        assert_eq!(at::sorted(&below), expected, "{what}");
        let record = only_record(&records, attempt);
        assert_eq!(record.text("verdict"), "normalized", "{what}");
        assert!(record.0["errno"].is_null(), "{what}");
        assert_eq!(record.name("visible"), Some(wanted.clone()), "{what}");
        assert_eq!(record.name("backing"), Some(wanted), "{what}");
    }
}

/// Law N9, `report`: created as asked, and one record says so.
#[test]
fn names_that_do_not_conform_are_only_reported_under_report() {
    let tree = Tree::new();
    let rows: Vec<Row> = [ILL_FORMED, FORBIDDEN].concat();
    let setting = Setting::new(
        Legacy::Escape,
        OnViolation::Report,
        Profile::Portable,
        None,
        &[],
    );
    let (done, records) = make_all(&tree, &setting.options(), &names_of(&rows));
    assert_eq!(records.len(), done.len());
    for (number, attempt) in done.iter().enumerate() {
        let (make, name, dir, result) = attempt;
        let what = format!("{} of {}", make.label(), show(name));
        assert_eq!(*result, Ok(()), "{what}");
        let below = at::open_dir(tree.below_dir(), dir.as_bytes()).unwrap();
        assert!(at::list(&below).contains(name), "{what}");
        let record = only_record(&records, attempt);
        check_rule(record, &rows[number / Make::ALL.len()]);
        assert_eq!(record.text("verdict"), "reported", "{what}");
        assert!(record.0["errno"].is_null(), "{what}");
        assert_eq!(record.name("backing").as_ref(), Some(name), "{what}");
        // N6: what is stored as asked is visible as any other legacy name.
        let visible = setting.meaning.visible_alone(name);
        assert_eq!(record.name("visible"), visible, "{what}");
    }
}

/// Law L2: the record says who it was, where, and what would be accepted.
#[test]
fn the_record_says_who_tried_and_what_would_be_accepted() {
    let tree = Tree::new();
    let mount = tree.mount(&["--from", "iso-8859-1"]);
    let point = mount.point();
    let result = at::mkdir(mount.dir(), b"caf\xE9");
    assert_eq!(result, Err(Errno::ILSEQ));
    let records = mount.stop();
    let [record] = &records[..] else {
        panic!("{records:?}");
    };
    let point = point.to_str().unwrap().as_bytes().to_vec();
    assert_eq!(record.name("mount"), Some(point));
    assert_eq!(record.name("path"), Some(b"/caf\xE9".to_vec()));
    assert_eq!(record.name("accepted"), Some("café".into()));
    assert_eq!(
        record.number("uid"),
        u64::from(rustix::process::getuid().as_raw())
    );
    assert_eq!(
        record.number("gid"),
        u64::from(rustix::process::getgid().as_raw())
    );
    // The kernel gives the number of the thread that asked.
    let thread = rustix::thread::gettid().as_raw_nonzero().get();
    assert_eq!(record.number("pid"), u64::try_from(thread).unwrap());
    assert!(
        record
            .name("command")
            .is_some_and(|command| !command.is_empty())
    );
    let time: jiff::Timestamp = record.text("time").parse().unwrap();
    assert!(time <= jiff::Timestamp::now());
}
