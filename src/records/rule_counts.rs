//! Numbers by rule.

use serde::{Deserialize, Serialize};

use crate::policy::RuleName;

/// A value for each rule that names can break, in the order of the rules. One that is missing is the default.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct RuleCounts<T> {
    /// Of [`RuleName::IllFormed`].
    pub ill_formed: T,
    /// Of [`RuleName::TooLong`].
    pub too_long: T,
    /// Of [`RuleName::Forbidden`].
    pub forbidden: T,
    /// Of [`RuleName::NotNormalized`].
    pub not_normalized: T,
    /// Of [`RuleName::Unmappable`].
    pub unmappable: T,
    /// Of [`RuleName::NotUnique`].
    pub not_unique: T,
    /// Of [`RuleName::NotAComponent`].
    pub not_a_component: T,
}

impl<T: Copy> RuleCounts<T> {
    /// Returns each rule with its value.
    #[must_use]
    pub fn rows(&self) -> [(RuleName, T); 7] {
        [
            (RuleName::IllFormed, self.ill_formed),
            (RuleName::TooLong, self.too_long),
            (RuleName::Forbidden, self.forbidden),
            (RuleName::NotNormalized, self.not_normalized),
            (RuleName::Unmappable, self.unmappable),
            (RuleName::NotUnique, self.not_unique),
            (RuleName::NotAComponent, self.not_a_component),
        ]
    }

    /// Returns the value of `rule`, to be changed.
    pub fn of(&mut self, rule: RuleName) -> &mut T {
        match rule {
            RuleName::IllFormed => &mut self.ill_formed,
            RuleName::TooLong => &mut self.too_long,
            RuleName::Forbidden => &mut self.forbidden,
            RuleName::NotNormalized => &mut self.not_normalized,
            RuleName::Unmappable => &mut self.unmappable,
            RuleName::NotUnique => &mut self.not_unique,
            RuleName::NotAComponent => &mut self.not_a_component,
        }
    }
}

impl RuleCounts<u64> {
    /// Returns the sum of all.
    #[must_use]
    pub fn sum(&self) -> u64 {
        self.rows().iter().map(|(_, count)| count).sum()
    }
}
