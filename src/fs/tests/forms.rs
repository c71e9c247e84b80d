//! Laws N9 and N10 where names differ in normalization form alone.

use rustix::io::Errno;

use super::{Scratch, map};
use crate::at;
use crate::codec::Form;
use crate::names::{Legacy, NameMap, Quoted};
use crate::policy::Policy;

/// Each form that names may have to be in, and the other one.
const FORMS: [(Form, Form); 2] = [(Form::Nfc, Form::Nfd), (Form::Nfd, Form::Nfc)];

/// Texts that have more than one spelling, most of them as file names are.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "caf\u{E9}.txt",
        "\u{D55C}\u{AD6D}\u{C5B4} \u{BB38}\u{C11C}", // Hangul syllables, composed by rule
        "\u{110B}\u{1165}\u{11AB}\u{1102}\u{1167}\u{11BC}", // the same as jamo
        "Vi\u{1EC7}t Nam \u{1EA5}\u{1EA7}\u{1EA9}\u{1EAB}\u{1EAD}", // two marks on a letter
        "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t",
        "\u{212B}ngstr\u{F6}m \u{2126} \u{212A}", // singletons: Angstrom, ohm, kelvin
        "\u{915}\u{93C}\u{958}",                  // a composition exclusion
        "q\u{323}\u{307} q\u{307}\u{323}",        // marks in either order
        "\u{1F82}\u{3B1}\u{313}\u{300}\u{345}",   // Greek, three marks
        "\u{5E9}\u{5BC}\u{5C1}",                  // Hebrew, canonical order
        "\u{FA19}\u{F900}",                       // CJK compatibility ideographs
    ]
    .map(str::to_owned)
    .to_vec();
    // A run of marks that takes a name to its limit, in the wrong order throughout.
    texts.push("a".to_owned() + &"\u{301}\u{323}".repeat(63));
    texts
}

fn scratch(form: Option<Form>, names: &[&[u8]]) -> Scratch {
    let policy = Policy {
        form,
        ..Policy::default()
    };
    let map = NameMap {
        policy,
        ..map(Legacy::Escape, &[])
    };
    Scratch::new(map, names)
}

#[test]
fn under_preserve_no_name_is_refused_or_changed_for_its_form() {
    let scratch = scratch(None, &[]);
    let dir = scratch.root();
    let mut made: Vec<Vec<u8>> = Vec::new();
    for text in texts() {
        for spelling in [Form::Nfc.apply(&text), Form::Nfd.apply(&text), text] {
            let name = spelling.into_bytes();
            if name.len() <= 255 && !made.contains(&name) {
                dir.write_new(&name, &name).unwrap();
                made.push(name);
            }
        }
    }
    made.sort();
    assert_eq!(dir.sorted(), made);
    assert_eq!(at::sorted(scratch.below_dir()), made);
    for name in &made {
        assert_eq!(dir.read(name).unwrap(), *name, "{}", Quoted(name));
    }
}

#[test]
fn in_a_wanted_form_every_spelling_is_one_name() {
    for (form, other) in FORMS {
        let scratch = scratch(Some(form), &[]);
        let dir = scratch.root();
        for text in texts() {
            let [kept, alias] = [form, other].map(|form| form.apply(&text).into_bytes());
            if kept.len() > 255 || alias.len() > 255 {
                continue;
            }
            let what = format!("{} in {form:?}", Quoted(&kept));
            if alias != kept {
                assert_eq!(dir.create_new(&alias), Err(Errno::ILSEQ), "{what}");
            }
            dir.write_new(&kept, b"content").unwrap();
            for spelling in [&kept, &alias, &text.into_bytes()] {
                assert_eq!(dir.read(spelling).unwrap(), b"content", "{what}");
                assert_eq!(dir.create_new(spelling), Err(Errno::EXIST), "{what}");
            }
            assert_eq!(dir.sorted(), std::slice::from_ref(&kept), "{what}");
            dir.unlink(&alias).unwrap();
            assert_eq!(dir.stat(&kept), Err(Errno::NOENT), "{what}");
        }
    }
}

/// Names that lie below in the other form are shown in the wanted one, and keep their own.
#[test]
fn names_below_in_another_form_are_shown_in_the_wanted_one() {
    for (form, other) in FORMS {
        let mut below: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for text in texts() {
            let [name, shown] = [other, form].map(|form| form.apply(&text).into_bytes());
            let is_new = below
                .iter()
                .all(|known| known.0 != name && known.1 != shown);
            if name.len() <= 255 && shown.len() <= 255 && is_new {
                below.push((name, shown));
            }
        }
        let names: Vec<&[u8]> = below.iter().map(|(name, _)| name.as_slice()).collect();
        let scratch = scratch(Some(form), &names);
        for (name, shown) in &below {
            let content = scratch.root().read(shown).unwrap();
            assert_eq!(content, *name, "{}", Quoted(shown));
        }
        let mut expected: Vec<Vec<u8>> = below.into_iter().map(|(_, shown)| shown).collect();
        expected.sort();
        assert_eq!(scratch.list(), expected, "{form:?}");
    }
}
