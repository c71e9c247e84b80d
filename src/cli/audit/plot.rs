//! Plots, as SVG: shapes, numbers and dates, and no name. Coordinates are counts, which the view box scales.

use std::collections::BTreeMap;

use super::log_summary::{add_counts, moment};
use crate::cli::args::TimeUnit;
use crate::cli::output::grouped;
use crate::records::RuleCounts;

/// Most bars; where there are more moments, several are one bar.
const BARS: i64 = 366;

/// Offences over time, by rule, on top of each other. Every moment from the first to the last has its place.
pub(super) fn over_time(unit: TimeUnit, over_time: &BTreeMap<i64, RuleCounts<u64>>) -> String {
    let span = over_time.first_key_value().zip(over_time.last_key_value());
    let Some(((first, _), (last, _))) = span else {
        return String::new();
    };
    let moments = (last - first) / unit.hours() + 1;
    let step = (moments + BARS - 1) / BARS;
    let bars = (moments + step - 1) / step;
    let hours = step * unit.hours();
    let mut sums: BTreeMap<i64, RuleCounts<u64>> = BTreeMap::new();
    for (hour, by_rule) in over_time {
        add_counts(sums.entry((hour - first) / hours).or_default(), by_rule);
    }
    let most = sums.values().map(RuleCounts::sum).max().unwrap_or_default();
    let several = match step {
        1 => String::new(),
        step => format!(" and the next {} {}s", step - 1, unit.label()),
    };
    let shapes = sums.iter().map(|(bar, by_rule)| {
        let (mut rects, mut numbers, mut top) = (String::new(), Vec::new(), most);
        let rows = by_rule.rows().into_iter().enumerate();
        for (index, (rule, count)) in rows.filter(|(_, (_, count))| *count > 0) {
            top -= count;
            rects += &format!(
                "<rect class=\"r{index}\" x=\"{bar}\" y=\"{top}\" width=\"0.9\" height=\"{count}\"/>"
            );
            numbers.push(format!("{} {}", grouped(count), <&str>::from(rule)));
        }
        let from = moment(first + bar * hours, unit);
        let numbers = numbers.join(", ");
        format!("<g><title>{from}{several}: {numbers}</title>{rects}</g>\n")
    });
    format!(
        "<p class=\"hint\">Up to {} in a bar</p>\n\
         <svg class=\"plot\" viewBox=\"0 0 {bars} {most}\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"Offences by {}\">\n{}</svg>\n\
         <p class=\"hint ends\"><span>{}</span><span>{}</span></p>\n",
        grouped(most),
        unit.label(),
        shapes.collect::<String>(),
        moment(*first, unit),
        moment(*last, unit),
    )
}

/// A bar of `count` in `most`.
pub(super) fn share(count: u64, most: u64) -> String {
    format!(
        "<svg class=\"share\" viewBox=\"0 0 {most} 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"{most}\" height=\"1\"/><rect class=\"fill\" width=\"{count}\" height=\"1\"/></svg>"
    )
}

/// Returns the legend of colours.
pub(super) fn legend(by_rule: &RuleCounts<u64>) -> String {
    let rows = by_rule.rows();
    let rules = rows.iter().enumerate();
    let entries = rules.filter(|(_, (_, count))| *count > 0).map(|(index, (rule, count))| {
        format!(
            "<span><svg viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect class=\"r{index}\" width=\"1\" height=\"1\"/></svg>{} {}</span>",
            <&str>::from(*rule),
            grouped(*count)
        )
    });
    format!("<p id=\"legend\">{}</p>\n", entries.collect::<String>())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::{BARS, TimeUnit, over_time};
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
        let plot = over_time(TimeUnit::Day, &some);
        assert!(
            plot.contains("<title>1970-01-02: 1 ill-formed, 2 forbidden</title>"),
            "{plot}"
        );
        assert_eq!(plot.matches("<rect").count(), 3);
        some.insert(24 * 100_000, counts(1, 1, 1));
        let plot = over_time(TimeUnit::Day, &some);
        assert!(plot.contains("and the next 273 days: "), "{plot}");
        for hour in 0..10_000 {
            some.insert(hour, counts(1, 1, 1));
        }
        let bars = over_time(TimeUnit::Hour, &some).matches("<g>").count();
        assert!(i64::try_from(bars).unwrap() <= BARS);
        assert!(!over_time(TimeUnit::Hour, &BTreeMap::new()).contains("<g>"));
    }
}
