//! Paths in command lines that are told (law L1).

use std::process::Command;

use utf8fs::names::ShellWord;

#[test]
fn a_shell_gives_every_octet_back() {
    let mut all: Vec<Vec<u8>> = (1..=u8::MAX).map(|octet| vec![b'x', octet, b'1']).collect();
    let alone = (1..=u8::MAX).filter(|&octet| octet != b'-');
    all.extend(alone.map(|octet| vec![octet]));
    all.push((1..=u8::MAX).collect());
    all.push("né \u{202E}\u{85}'\\".into());
    let words: Vec<String> = all.iter().map(|one| ShellWord(one).to_string()).collect();
    assert!(!words.concat().contains(char::is_control));
    let output = Command::new("bash")
        .arg("-c")
        .arg(format!("printf '%s\\0' {}", words.join(" ")))
        .output()
        .unwrap();
    let given: Vec<&[u8]> = output.stdout.split(|&octet| octet == 0).collect();
    assert_eq!(given.len(), all.len() + 1);
    for (given, one) in given.iter().zip(&all) {
        assert_eq!(given, one);
    }
}
