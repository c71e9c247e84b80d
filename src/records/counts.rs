//! Numbers by rule, by verdict and by finding.

use serde::{Deserialize, Serialize};

use super::Finding;
use crate::names::rules::Verdict;
use crate::policy::RuleName;

macro_rules! counts {
    ($(#[$doc:meta])+ $name:ident by $key:ident { $($field:ident: $variant:ident,)+ }) => {
        $(#[$doc])+
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case", default)]
        pub struct $name<T = u64> {
            $(
                #[doc = concat!("Of [`", stringify!($key), "::", stringify!($variant), "`].")]
                pub $field: T,
            )+
        }

        impl<T: Copy> $name<T> {
            /// Returns each key with its value.
            pub fn rows(&self) -> [($key, T); [$($key::$variant),+].len()] {
                [$(($key::$variant, self.$field)),+]
            }

            /// Returns the value of `key`, to be changed.
            pub fn of(&mut self, key: $key) -> &mut T {
                match key {
                    $($key::$variant => &mut self.$field,)+
                }
            }
        }

        impl $name {
            /// Returns the sum of all.
            pub fn sum(&self) -> u64 {
                self.rows().iter().map(|(_, count)| count).sum()
            }
        }
    };
}

counts! {
    /// A value for each rule that names can break. One that is missing is the default.
    RuleCounts by RuleName {
        ill_formed: IllFormed,
        too_long: TooLong,
        forbidden: Forbidden,
        not_normalized: NotNormalized,
        unmappable: Unmappable,
        not_unique: NotUnique,
        not_a_component: NotAComponent,
    }
}

counts! {
    /// A number for each verdict.
    VerdictCounts by Verdict {
        refused: Refused,
        normalized: Normalized,
        reported: Reported,
    }
}

counts! {
    /// The numbers of names with each finding.
    FoundCounts by Finding {
        ill_formed: IllFormed,
        too_long: TooLong,
        forbidden: Forbidden,
        not_normalized: NotNormalized,
        doubly_encoded: DoublyEncoded,
        collides_in_case: CollidesInCase,
        collides_in_form: CollidesInForm,
    }
}
