use super::{CERTAIN, Doubled, Guess, Guesser, Mixture, TextGuess, doubly_encoded};
use crate::codec::Charset;

fn guesses<'a>(names: impl IntoIterator<Item = &'a [u8]>) -> Vec<Guess> {
    let mut guesser = Guesser::default();
    names.into_iter().for_each(|name| guesser.add(name));
    guesser.guesses()
}

/// The best reading of a name by itself.
fn reading(name: &[u8]) -> (&'static str, String, f64) {
    let best = guesses([name]).remove(0);
    let text = best.examples[0].text.clone().unwrap();
    (best.charset.label(), text, best.confidence)
}

/// Bytes of no meaning, the same on each run (xorshift).
struct Noise(u64);

impl Noise {
    fn byte(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.to_le_bytes()[3]
    }

    fn name(&mut self) -> Vec<u8> {
        let length = self.byte() % 40;
        (0..length).map(|_| self.byte()).collect()
    }
}

#[test]
fn names_found_in_the_wild_are_read_right_one_by_one() {
    // name, charset, text                                                    where it was found
    let rows: [(&[u8], &str, &str); 12] = [
        (b"testu\xE7\xF5es.txt", "iso-8859-1", "testuções.txt"), // fshost/node-dir test/fixtures/testdir5
        (b"\x8F\x90\x88\x82\x85\x92", "ibm866", "ПРИВЕТ"), // libarchive cpio, tar, zip: capitals
        (b"\xAF\xE0\xA8\xA2\xA5\xE2", "ibm866", "привет"), // libarchive cpio, tar, zip
        (b"\xF0\xF2\xE9\xF7\xE5\xF4", "koi8-r", "ПРИВЕТ"), // libarchive: small letters of windows-1251
        (b"\xD0\xD2\xC9\xD7\xC5\xD4", "koi8-r", "привет"), // libarchive: capitals of windows-1251
        (b"\xB4\xC1\xBB\xFA.txt", "euc-jp", "漢字.txt"), // libarchive: also 戳机 in GBK, 期儂 in Big5
        (b"\x95\x5C\x82\xBE\x82\xE6", "shift_jis", "表だよ"), // libarchive zip: 5C is half of a character
        (b"\x88\xEA\x97\x97\x95\x5C.txt", "shift_jis", "一覧表.txt"), // libarchive zip
        (b"\x8A\xBF\x8E\x9A.txt", "shift_jis", "漢字.txt"),   // libarchive zip
        (
            b"\x82\xB1\x82\xF1\x82\xC9\x82\xBF\x82\xCD\x90\xA2\x8A\x45.txt",
            "shift_jis",
            "こんにちは世界.txt",
        ), // clsty/zip-encoding-test
        (
            b"\xA4\xB3\xA4\xF3\xA4\xCB\xA4\xC1\xA4\xCF\xCA\xC0\xBD\xE7.txt",
            "gbk",
            "こんにちは世界.txt",
        ), // same: kana stand there in EUC-JP too
        (b"abc\xCC\x8Cmno\xFCxyz", "iso-8859-1", "abcÌ\u{8C}mnoüxyz"), // libarchive pax: mixed on purpose, so hardly sure
    ];
    for (name, charset, text) in rows {
        let (label, read, confidence) = reading(name);
        assert_eq!((label, read.as_str()), (charset, text), "{confidence}");
    }
}

#[test]
fn one_accent_in_a_short_name_is_enough() {
    let rows: [(&[u8], &str); 10] = [
        (b"caf\xE9", "café"),
        (b"M\xE4rz.txt", "März.txt"),
        (b"M\x84rz.txt", "März.txt"),    // DOS
        (b"gr\x9A\xA7er", "größer"),     // Macintosh
        (b"p\x8Are", "père"),            // DOS, the same byte
        (b"ni\xF1o", "niño"),            // Latin-1
        (b"ni\xA4o", "niño"),            // DOS: ¤ in Latin-1
        (b"\xC5ngstr\xF6m", "Ångström"), // Latin-1
        (b"\x8Fngstr\x94m", "Ångström"), // DOS
        (b"\x81ngstr\x9Am", "Ångström"), // Macintosh
    ];
    for (name, text) in rows {
        assert_eq!(reading(name).1, text);
    }
}

#[test]
fn charsets_that_read_names_alike_are_one_guess_of_high_confidence() {
    let best = guesses([&b"caf\xE9"[..], b"cr\xEApe"]).remove(0);
    assert_eq!(
        best.charset.label(),
        "iso-8859-1",
        "the plain label before its supersets"
    );
    for label in ["windows-1252", "iso-8859-15", "iso-8859-9", "windows-1254"] {
        assert!(
            best.alike.contains(&Charset::from_label(label).unwrap()),
            "{label}"
        );
    }
    assert!(best.confidence > 0.95, "{}", best.confidence);
    // An en dash tells them apart.
    let best = guesses([&b"caf\xE9"[..], b"cr\xEApe \x96 sucre"]).remove(0);
    assert_eq!(best.charset.label(), "windows-1252");
}

#[test]
fn confidences_are_shares_of_one() {
    let mut noise = Noise(7);
    for round in 0..200 {
        let names: Vec<Vec<u8>> = (0..round % 5 + 1).map(|_| noise.name()).collect();
        let all = guesses(names.iter().map(Vec::as_slice));
        let sum: f64 = all.iter().map(|guess| guess.confidence).sum();
        assert!(sum <= 1.0 + 1e-9, "{names:?}: {sum}");
        assert!(
            all.iter()
                .all(|guess| guess.confidence >= 0.0 && guess.read <= guess.of)
        );
        assert!(all.is_sorted_by(|a, b| a.confidence >= b.confidence));
    }
}

#[test]
fn bytes_without_meaning_are_no_sure_guess() {
    let name = b"\xFF\xFE\x80\x03\x9D\xA0\xFF\x01\xBF\x81\xFF\xAD";
    let best = guesses([&name[..]]).remove(0);
    assert!(best.confidence < 0.5, "{best:?}");
}

#[test]
fn bytes_that_are_no_letters_anywhere_are_no_sure_guess() {
    let names: [&[u8]; 3] = [
        b"DATA\xFF\xFE\x01.bin",
        b"DATB\xFF\xFE.bin",
        b"D\x80\xFF.bin",
    ];
    let mut guesser = Guesser::default();
    names.iter().for_each(|name| guesser.add(name));
    let mixture = Mixture::default().with(&guesser).part(1, 3).with(&guesser);
    for name in &names[..2] {
        let texts = mixture.read(name);
        let sure = texts.iter().filter(|text| text.confidence >= CERTAIN);
        assert_eq!(
            sure.collect::<Vec<_>>(),
            Vec::<&TextGuess>::new(),
            "{name:02X?}"
        );
    }
}

#[test]
fn utf8_that_was_cut_or_put_beside_other_bytes_is_no_sure_guess() {
    let rows: [&[u8]; 9] = [
        "日本語".as_bytes().split_last().unwrap().1,
        "資料集".as_bytes().split_last().unwrap().1,
        "会议记录".as_bytes().split_last().unwrap().1,
        "한국어".as_bytes().split_last().unwrap().1,
        "Письмо".as_bytes().split_last().unwrap().1,
        b"Men\xC3",
        b"Fotos Z\xC3\xBCrich, M\xC3",
        b"\xA4\xB8\xAD\xE6\x96\x87.txt",
        b"\xC3\x9Cbersicht sch\xF6n.txt",
    ];
    for name in rows {
        let texts = Mixture::default().read(name);
        let sure = texts.iter().filter(|text| text.confidence >= CERTAIN);
        assert_eq!(sure.count(), 0, "{}: {texts:?}", name.escape_ascii());
    }
}

#[test]
fn korean_that_could_be_an_overlong_slash_needs_siblings() {
    let charset = Charset::from_label("euc-kr").unwrap();
    let name = charset.encode("유리창.txt").unwrap();
    let likeliest = |siblings: &[&str]| {
        let mut guesser = Guesser::default();
        guesser.add(&name);
        let siblings = siblings.iter().map(|name| charset.encode(name).unwrap());
        siblings.for_each(|sibling| guesser.add(&sibling));
        let best = Mixture::default().with(&guesser).read(&name).remove(0);
        assert_eq!(best.text, "유리창.txt");
        best.confidence
    };
    assert!(likeliest(&[]) < CERTAIN);
    assert!(likeliest(&["사진첩.jpg", "회의록.doc", "가족여행.jpg"]) > CERTAIN);
}

#[test]
fn no_names_and_well_formed_names_make_no_guess() {
    assert!(guesses([]).is_empty());
    let mut guesser = Guesser::default();
    for name in [
        &b""[..],
        b".",
        b"plain.txt",
        "café".as_bytes(),
        "漢字".as_bytes(),
    ] {
        guesser.add(name);
    }
    assert!(guesser.guesses().is_empty());
    assert_eq!((guesser.ill_formed, guesser.well_formed), (0, 5));
    assert_eq!(guesser.doubled(), None);
}

#[test]
fn names_that_a_charset_does_not_read_are_counted_and_do_not_spoil_the_rest() {
    let mut guesser = Guesser::default();
    for i in 0..50 {
        guesser.add(
            format!("{i}-")
                .as_bytes()
                .iter()
                .chain(b"\xF0\xF2\xE9\xF7\xE5\xF4")
                .copied()
                .collect::<Vec<u8>>()
                .as_slice(),
        );
    }
    guesser.add(b"\x8F\x90\x88\x82\x85\x92"); // the same word in another charset
    let all = guesser.guesses();
    assert_eq!(all[0].charset.label(), "koi8-r");
    let arabic = all
        .iter()
        .find(|guess| guess.charset.label() == "iso-8859-6")
        .unwrap();
    assert_eq!(
        (arabic.read, arabic.of),
        (1, 51),
        "iso-8859-6 assigns nothing to F3 and on"
    );
}

#[test]
fn order_and_grouping_of_names_make_no_difference() {
    let mut noise = Noise(42);
    let names: Vec<Vec<u8>> = (0..900).map(|_| noise.name()).collect();
    let add = |names: &mut dyn Iterator<Item = &Vec<u8>>| {
        let mut guesser = Guesser::default();
        names.for_each(|name| guesser.add(name));
        guesser
    };
    let whole = add(&mut names.iter());
    let (mut left, mut right) = (Guesser::default(), Guesser::default());
    for part in names.chunks(77) {
        left.merge(&add(&mut part.iter()));
        let before = std::mem::replace(&mut right, add(&mut part.iter().rev()));
        right.merge(&before);
    }
    assert_eq!(whole.guesses(), add(&mut names.iter().rev()).guesses());
    assert_eq!(whole.guesses(), left.guesses());
    assert_eq!(whole.guesses(), right.guesses());
    assert_eq!(whole.doubled(), right.doubled());
}

#[test]
fn memory_is_bounded_and_long_names_take_linear_time() {
    let mut guesser = Guesser::default();
    let long = b"\xEF\xF0\xE8\xE2\xE5\xF2 ".repeat(15_000);
    for i in 0..400_u32 {
        let mut name = i.to_le_bytes().to_vec();
        name.extend(b"\xE9".repeat(2000));
        guesser.add(&name);
    }
    guesser.add(&long);
    let held: usize = guesser.sample.names().map(<[u8]>::len).sum();
    assert!(held <= 256 * 1024, "{held}");
    let alone = guesses([long.as_slice()]).remove(0);
    assert_eq!(alone.charset.label(), "windows-1251");
    assert!(
        alone.examples[0].name.len() <= 1024
            && alone.examples[0]
                .text
                .as_deref()
                .unwrap()
                .starts_with("привет привет")
    );
    // Overlong in a charset of two bytes and with no place to cut: answered, whatever the answer.
    guesses([
        b"\x8A\xBF".repeat(50_000).as_slice(),
        &b"\xFF".repeat(100_001),
    ]);
    assert!(doubly_encoded("Ã©".repeat(50_000).as_bytes()).is_some());
}

#[test]
fn every_language_and_charset_of_the_table_is_there() {
    let models = &super::model::LANGUAGES;
    for charset in Charset::all() {
        let (weight, languages) = charset.prior();
        assert!(weight > 0.0, "{charset:?}");
        for code in languages {
            assert!(models.iter().any(|model| model.code == code), "{code}");
        }
    }
    assert_eq!(models.len(), 44);
}

#[test]
fn names_that_were_not_learnt_are_mostly_read_right() {
    let (mut single, mut single_right, mut sets, mut sets_right) = (0, 0, 0, 0);
    for row in include_str!("held_out.tsv")
        .lines()
        .filter(|row| !row.starts_with('#'))
    {
        let mut columns = row.split('\t');
        let (_language, charsets) = (columns.next().unwrap(), columns.next().unwrap());
        let texts: Vec<&str> = columns.collect();
        for label in charsets.split(' ') {
            let charset = Charset::from_label(label).unwrap();
            let names: Vec<Vec<u8>> = texts
                .iter()
                .map(|text| charset.encode(text).unwrap())
                .collect();
            for (name, text) in names.iter().zip(&texts) {
                single += 1;
                single_right += i32::from(reading(name).1 == *text);
            }
            let best = guesses(names.iter().map(Vec::as_slice)).remove(0);
            let is_right = |(name, text): (&Vec<u8>, &&str)| {
                best.charset.decode_reversibly(name).as_deref() == Some(text)
            };
            sets += 1;
            sets_right += i32::from(names.iter().zip(&texts).all(is_right));
        }
    }
    assert!(
        single_right * 100 >= single * 94,
        "{single_right} of {single} single names"
    );
    assert!(
        sets_right * 100 >= sets * 99,
        "{sets_right} of {sets} sets of twelve"
    );
}

/// The text, encoded over each route again.
fn encoded_again(doubled: &Doubled) -> String {
    let routes = doubled.routes.iter().rev();
    routes.fold(doubled.text.clone(), |text, route| {
        let taken_for = |byte| match route.decode(&[byte]) {
            Ok(text) => text,
            Err(_) => char::from(byte).to_string(),
        };
        text.bytes().map(taken_for).collect()
    })
}

#[test]
fn doubly_and_triply_encoded_names_are_undone() {
    // name, text, route, times
    let rows = [
        ("CafÃ©.txt", "Café.txt", "iso-8859-1", 2),
        ("Ð¿Ñ€Ð¸Ð²ÐµÑ‚", "привет", "windows-1252", 2), // € and ‚ are no characters of Latin-1
        ("æ¼¢å\u{AD}\u{97}", "漢字", "iso-8859-1", 2),
        ("Ã\u{81}gua", "Água", "iso-8859-1", 2), // 81, which windows-1252 does not assign: both routes
        ("â€\u{9D}x", "”x", "windows-1252", 2),  // 9D after €: its real-world variant alone
        ("ÃƒÂ©tÃƒÂ©", "été", "windows-1252", 3),
        ("Ã\u{83}Â©tÃ\u{83}Â©", "été", "iso-8859-1", 3),
        ("cafeÌ\u{81}.txt", "cafe\u{301}.txt", "iso-8859-1", 2), // NFD
        ("caf√©", "café", "macintosh", 2),
        ("╨┐╤А╨╕╨▓╨╡╤В", "привет", "ibm866", 2),
    ];
    for (name, text, route, times) in rows {
        let doubled = doubly_encoded(name.as_bytes()).unwrap();
        assert_eq!(
            (
                doubled.text.as_str(),
                doubled.routes[0].label(),
                doubled.times()
            ),
            (text, route, times),
            "{name}"
        );
        assert_eq!(encoded_again(&doubled), name);
        assert!(doubled.confidence > 0.7, "{name}: {}", doubled.confidence);
    }
}

#[test]
fn a_name_that_was_encoded_again_over_two_charsets_is_undone_whole() {
    let [one, other] =
        ["macintosh", "windows-1252"].map(|label| Charset::from_label(label).unwrap());
    let text = "Übergrößenträger";
    let once = one.decode(text.as_bytes()).unwrap();
    let twice = other.decode(once.as_bytes()).unwrap();
    let doubled = doubly_encoded(twice.as_bytes()).unwrap();
    assert_eq!((doubled.text.as_str(), doubled.times()), (text, 3));
    assert_eq!(doubled.labels(), "windows-1252, macintosh");
    assert_eq!(encoded_again(&doubled), twice);
}

#[test]
fn what_may_be_meant_is_not_undone_or_not_surely() {
    // Not UTF-8 encoded again, or only in part, which could not be done again.
    for name in [
        "",
        "plain",
        "café",
        "SÃO",
        "«IRMÃ»",
        "ÃÃ",
        "привет",
        "CafÃ© – ľ",
        "Ã© é",
        "2€ ½",
    ] {
        assert_eq!(doubly_encoded(name.as_bytes()), None, "{name}");
    }
    assert_eq!(doubly_encoded(b"\xC3\x83\xC2"), None, "ill-formed");
    // It can be undone, but is so short that it may be meant.
    for name in ["Ã©", "Â°", "Â½", "Â©"] {
        let Doubled { confidence, .. } = doubly_encoded(name.as_bytes()).unwrap();
        assert!(confidence < 0.9, "{name}: {confidence}");
    }
}

#[test]
fn a_directory_of_doubly_encoded_names_is_surer_than_one_name() {
    let names = ["Â°", "Ã©", "Ã¼", "Ã±", "Å½"];
    let mut guesser = Guesser::default();
    names.iter().for_each(|name| guesser.add(name.as_bytes()));
    guesser.add("été".as_bytes());
    let all = guesser.doubled().unwrap();
    assert_eq!((all.names, all.of, all.examples.len()), (5, 6, 5));
    assert!(all.confidence > 0.95, "{}", all.confidence);
    let alone = names.map(|name| doubly_encoded(name.as_bytes()).unwrap().confidence);
    assert!(alone.iter().all(|confidence| *confidence < all.confidence));
}

#[test]
fn every_byte_string_is_answered_and_every_undoing_can_be_done_again() {
    let mut noise = Noise(1);
    let routes = [
        Charset::from_label("iso-8859-1").unwrap(),
        Charset::from_label("macintosh").unwrap(),
    ];
    for _ in 0..3000 {
        let name = noise.name();
        if let Some(doubled) = doubly_encoded(&name) {
            assert_eq!(encoded_again(&doubled).as_bytes(), name);
        }
        let again: String = routes[0].decode(&name).unwrap_or_default();
        for text in [
            again.clone(),
            routes[1].decode(again.as_bytes()).unwrap_or_default(),
        ] {
            if let Some(doubled) = doubly_encoded(text.as_bytes()) {
                assert_eq!(encoded_again(&doubled), text);
                assert!((0.0..=1.0).contains(&doubled.confidence) && doubled.times() >= 2);
            }
        }
    }
}

/// Found from outside: capitals of Ukrainian were read as characters of planes that hold none, and three Polish letters as
/// one ideograph.
#[test]
fn letters_that_are_another_character_by_chance_are_no_sign() {
    let names = ["ЄГЕР", "ЄСПЛ", "ЄЕСУ", "ЄКРН", "ЄВРЕЄЧОК"];
    let mut guesser = Guesser::default();
    for name in names {
        assert_eq!(doubly_encoded(name.as_bytes()), None, "{name}");
        guesser.add(name.as_bytes());
    }
    assert_eq!(guesser.doubled(), None);
    let chance = doubly_encoded("ćśś".as_bytes()).unwrap();
    assert!(chance.confidence <= 0.4, "{chance:?}");
}
