//! Law N10 where names differ in normalization form alone. `fs::tests::forms` has more texts.

use rustix::io::Errno;
use utf8fs::codec::Form;

use crate::support::at;
use crate::support::{Tree, show};

/// Texts that have more than one spelling.
const TEXTS: [&str; 3] = [
    "caf\u{E9}.txt",
    "\u{D55C}\u{AD6D}\u{C5B4} \u{BB38}\u{C11C}", // Hangul syllables, composed by rule
    "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t",    // two marks on a letter
];

#[test]
fn in_a_wanted_form_every_spelling_is_one_name() {
    for (option, form, other) in [("nfc", Form::Nfc, Form::Nfd), ("nfd", Form::Nfd, Form::Nfc)] {
        let tree = Tree::new();
        let mount = tree.mount(&["--normalization", option]);
        let dir = mount.dir();
        for text in TEXTS {
            let [kept, alias] = [form, other].map(|form| form.apply(text).into_bytes());
            let what = format!("{} in {option}", show(&kept));
            let refused = at::create_new(dir, &alias).err();
            assert_eq!(refused, Some(Errno::ILSEQ), "{what}");
            at::write_new(dir, &kept, b"content").unwrap();
            for spelling in [&kept[..], &alias, text.as_bytes()] {
                assert_eq!(at::read(dir, spelling).unwrap(), b"content", "{what}");
                let again = at::create_new(dir, spelling).err();
                assert_eq!(again, Some(Errno::EXIST), "{what}");
            }
            assert_eq!(at::list(dir), std::slice::from_ref(&kept), "{what}");
            at::unlink(dir, &alias).unwrap();
            let gone = at::stat(dir, &kept).err();
            assert_eq!(gone, Some(Errno::NOENT), "{what}");
        }
        mount.stop();
    }
}
