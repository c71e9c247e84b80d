//! Any names: a guess reads what it says that it reads, confidences add up, and what was encoded twice is that.
//!
//! Names are separated by newlines.

#![no_main]

use libfuzzer_sys::fuzz_target;
use utf8fs::codec::guess::{Guesser, doubly_encoded};

fuzz_target!(|input: &[u8]| {
    let names: Vec<&[u8]> = input.split(|&octet| octet == b'\n').collect();
    let mut guesser = Guesser::default();
    let mut halves = [Guesser::default(), Guesser::default()];
    for (number, name) in names.iter().enumerate() {
        guesser.add(name);
        halves[number % 2].add(name);
        if let Some(doubled) = doubly_encoded(name) {
            let routes = doubled.routes.iter().rev();
            let again = routes.fold(doubled.text.clone(), |text, route| {
                let taken_for = |byte| match route.decode(&[byte]) {
                    Ok(text) => text,
                    Err(_) => char::from(byte).to_string(),
                };
                text.bytes().map(taken_for).collect()
            });
            assert_eq!(again.as_bytes(), *name);
            assert!(doubled.times() >= 2 && (0.0..=1.0).contains(&doubled.confidence));
        }
    }
    let ill_formed = names
        .iter()
        .filter(|name| core::str::from_utf8(name).is_err());
    let ill_formed: Vec<_> = ill_formed.collect();
    let guesses = guesser.guesses();
    let sum: f64 = guesses.iter().map(|guess| guess.confidence).sum();
    assert!(sum <= 1.0 + 1e-9 && guesses.iter().all(|guess| guess.confidence >= 0.0));
    for guess in &guesses {
        let reads = |name: &&&&[u8]| guess.charset.decode_reversibly(name).is_some();
        assert_eq!(guess.of, u64::try_from(ill_formed.len()).expect("a count"));
        assert_eq!(
            guess.read,
            u64::try_from(ill_formed.iter().filter(reads).count()).expect("a count")
        );
        for example in &guess.examples {
            assert_eq!(guess.charset.decode_reversibly(&example.name), example.text);
        }
    }
    // In two parts, put together in either order, they are the same.
    let [first, second] = halves;
    let (mut one, mut other) = (first.clone(), second.clone());
    one.merge(&second);
    other.merge(&first);
    assert_eq!(one.guesses(), guesses);
    assert_eq!(other.guesses(), guesses);
    assert_eq!(one.doubled(), guesser.doubled());
});
