//! A plot of bars, as SVG: shapes, numbers and dates, and no name. Coordinates are counts, which the view box scales.

use std::collections::BTreeMap;

use super::log_summary::{moment, regroup};
use crate::cli::args::TimeUnit;
use crate::cli::output::grouped;
use crate::records::RuleCounts;

/// Most bars; where there are more moments, several are one bar.
const BARS: i64 = 366;

/// Offences over time. Every moment from the first to the last has its place.
pub(super) struct Plot {
    /// Number of places for bars.
    pub(super) bars: i64,
    /// Offences of the highest bar.
    pub(super) most: u64,
    pub(super) shapes: Vec<Bar>,
    pub(super) first: String,
    pub(super) last: String,
}

/// The offences of a moment, by rule, on top of each other.
pub(super) struct Bar {
    pub(super) x: i64,
    pub(super) title: String,
    pub(super) rects: Vec<Rect>,
}

/// The offences by one rule.
pub(super) struct Rect {
    /// Its index.
    pub(super) rule: usize,
    pub(super) top: u64,
    pub(super) count: u64,
}

impl Plot {
    /// Returns the plot, if there are offences.
    pub(super) fn over_time(
        unit: TimeUnit,
        over_time: &BTreeMap<i64, RuleCounts<u64>>,
    ) -> Option<Self> {
        let (first, last) = (over_time.keys().next()?, over_time.keys().next_back()?);
        let moments = (last - first) / unit.hours() + 1;
        let step = (moments + BARS - 1) / BARS;
        let hours = step * unit.hours();
        let sums = regroup(over_time, |hour| (hour - first) / hours);
        let most = sums.values().map(RuleCounts::sum).max()?;
        let several = match step {
            1 => String::new(),
            step => format!(" and the next {} {}s", step - 1, <&str>::from(unit)),
        };
        let bars = sums.iter().map(|(&x, by_rule)| {
            let (mut rects, mut numbers, mut top) = (Vec::new(), Vec::new(), most);
            for (rule, (name, count)) in by_rule.rows().into_iter().enumerate() {
                if count > 0 {
                    top -= count;
                    rects.push(Rect { rule, top, count });
                    numbers.push(format!("{} {}", grouped(count), <&str>::from(name)));
                }
            }
            let (from, numbers) = (moment(first + x * hours, unit), numbers.join(", "));
            let title = format!("{from}{several}: {numbers}");
            Bar { x, title, rects }
        });
        Some(Self {
            bars: (moments + step - 1) / step,
            most,
            shapes: bars.collect(),
            first: moment(*first, unit),
            last: moment(*last, unit),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BARS, Plot, TimeUnit};
    use crate::records::RuleCounts;

    #[test]
    fn every_moment_has_its_place_and_bars_are_bounded() {
        let counts = |ill_formed, forbidden, not_unique| RuleCounts {
            ill_formed,
            forbidden,
            not_unique,
            ..RuleCounts::default()
        };
        let mut some = BTreeMap::from([(24, counts(1, 2, 0)), (48, counts(0, 0, 5))]);
        let plot = Plot::over_time(TimeUnit::Day, &some).unwrap();
        assert_eq!(
            plot.shapes[0].title,
            "1970-01-02: 1 ill-formed, 2 forbidden"
        );
        let rects = plot.shapes.iter().map(|bar| bar.rects.len());
        assert_eq!(rects.collect::<Vec<_>>(), [2, 1]);
        some.insert(24 * 100_000, counts(1, 1, 1));
        let plot = Plot::over_time(TimeUnit::Day, &some).unwrap();
        let title = &plot.shapes[0].title;
        assert!(title.contains("and the next 273 days: "), "{title}");
        for hour in 0..10_000 {
            some.insert(hour, counts(1, 1, 1));
        }
        let plot = Plot::over_time(TimeUnit::Hour, &some).unwrap();
        assert!(i64::try_from(plot.shapes.len()).unwrap() <= BARS);
        assert!(Plot::over_time(TimeUnit::Hour, &BTreeMap::new()).is_none());
    }
}
