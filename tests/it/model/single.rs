//! Properties: the program's mapping of single names equals the reference model's, under every setting.

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use utf8fs::names::{BackingName, Legacy, NameMap, OnViolation};
use utf8fs::policy::ErrnoChoice;

use crate::model::laws::{self, Settings};
use crate::model::operations;
use crate::model::settings::{LEGACY, all_of};
use crate::support::show;

pub(super) fn map(settings: &Settings) -> NameMap {
    NameMap {
        policy: settings.policy.clone(),
        legacy: match settings.legacy {
            laws::Legacy::Decode => Legacy::Decode,
            laws::Legacy::Escape => Legacy::Escape,
            laws::Legacy::Raw => Legacy::Raw,
            laws::Legacy::Hide => Legacy::Hide,
        },
        from: settings.from.clone(),
        store_as: settings.store_as,
        on_violation: match settings.on_violation {
            laws::OnViolation::Reject => OnViolation::Reject,
            laws::OnViolation::Normalize => OnViolation::Normalize,
            laws::OnViolation::Report => OnViolation::Report,
        },
        errno: ErrnoChoice::default(),
    }
}

/// Runs `property` on many names under every setting.
fn for_every_setting(longest: usize, property: impl Fn(&Settings, &NameMap, &[u8])) {
    for (number, setting) in LEGACY.into_iter().flat_map(all_of).enumerate() {
        let config = Config {
            cases: 500,
            failure_persistence: None,
            ..Config::default()
        };
        let seed = [u8::try_from(number).unwrap(); 32];
        let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &seed);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let map = map(&setting.meaning);
        let result = runner.run(&operations::name(longest), |name| {
            property(&setting.meaning, &map, &name);
            Ok(())
        });
        if let Err(error) = result {
            panic!("{}: {error}", setting.options.join(" "));
        }
    }
}

/// Laws N1, N6, N7.
#[test]
fn a_name_alone_is_visible_as_the_reference_says() {
    for_every_setting(255, |settings, map, name| {
        let expected = settings.visible_alone(name).map(|name| show(&name));
        let got = map.visible_alone(&BackingName::parse(name).unwrap());
        let got = got.map(|name| show(name.as_bytes()));
        assert_eq!(got, expected, "{}", show(name));
    });
}

/// Laws N5, C5: what is visible conforms, but for the marks that the profile `posix` lacks.
#[test]
fn what_is_visible_conforms() {
    for_every_setting(255, |settings, map, name| {
        let visible = map.visible_alone(&BackingName::parse(name).unwrap());
        if settings.legacy == laws::Legacy::Raw {
            return;
        }
        let Some(visible) = visible else { return };
        let mut visible = visible.as_bytes().to_vec();
        assert!(visible.len() <= 255);
        if settings
            .policy
            .forbid
            .contains(&utf8fs::policy::Class::NotPosix)
        {
            visible.retain(|octet| !b"%~".contains(octet));
            visible.push(b'x');
        }
        assert!(settings.policy.conforms(&visible), "{}", show(&visible));
    });
}

/// Law N9.
#[test]
fn a_new_name_is_normalized_as_the_reference_says() {
    for_every_setting(400, |settings, map, name| {
        let expected = settings.normalized(name).map(|name| show(&name));
        let got = map.normalized(name);
        let got = got
            .map(|name| show(name.as_bytes()))
            .map_err(|offence| offence.rule);
        assert_eq!(got, expected, "{}", show(name));
    });
}
