//! Plots, as SVG: shapes, numbers and dates, and no name.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::log_summary::{add_counts, moment};
use crate::cli::args::TimeUnit;
use crate::cli::output::grouped;
use crate::records::RuleCounts;

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 70.0;
const BOTTOM: f64 = 30.0;
const TOP: f64 = 14.0;

/// Most bars; where there are more moments, several are one bar.
const BARS: i64 = 366;

/// Dates below the bars.
const DATES: i64 = 6;

/// Offences over time, by rule, on top of each other. Every moment from the first to the last has its place.
pub(super) fn over_time(unit: TimeUnit, over_time: &BTreeMap<i64, RuleCounts<u64>>) -> String {
    let mut svg = format!(
        "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"Offences by {}\">\n",
        unit.label()
    );
    let span = over_time.first_key_value().zip(over_time.last_key_value());
    if let Some(((first, _), (last, _))) = span {
        draw(&mut svg, unit, (*first, *last), over_time);
    }
    svg.push_str("</svg>\n");
    svg
}

fn draw(
    svg: &mut String,
    unit: TimeUnit,
    (first, last): (i64, i64),
    over_time: &BTreeMap<i64, RuleCounts<u64>>,
) {
    let moments = (last - first) / unit.hours() + 1;
    let step = moments.div_euclid(BARS + 1) + 1;
    let bars = (moments + step - 1) / step;
    let hours = step * unit.hours();
    let mut sums: BTreeMap<i64, RuleCounts<u64>> = BTreeMap::new();
    for (hour, by_rule) in over_time {
        add_counts(sums.entry((hour - first) / hours).or_default(), by_rule);
    }
    let most = sums.values().map(RuleCounts::sum);
    let most = most.max().unwrap_or_default().max(1);
    let (width, height) = (WIDTH - LEFT, HEIGHT - BOTTOM - TOP);
    let x = |bar: i64| LEFT + width * float(bar.unsigned_abs()) / float(bars.unsigned_abs());
    let y = |count: u64| TOP + height - height * float(count) / float(most);
    for count in [0, most / 2, most] {
        put(
            svg,
            format_args!(
                "<line x1=\"{LEFT}\" x2=\"{WIDTH}\" y1=\"{0:.1}\" y2=\"{0:.1}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3}</text>\n",
                y(count),
                LEFT - 8.0,
                y(count) + 4.0,
                grouped(count)
            ),
        );
    }
    for (bar, by_rule) in &sums {
        let from = moment(first + bar * hours, unit);
        let rows = by_rule.rows();
        let each = rows.iter().filter(|(_, count)| *count > 0);
        let each: Vec<String> = each
            .map(|(rule, count)| format!("{} {}", grouped(*count), <&str>::from(*rule)))
            .collect();
        let several = match step {
            1 => String::new(),
            step => format!(" and the next {} {}s", step - 1, unit.label()),
        };
        put(
            svg,
            format_args!("<g><title>{from}{several}: {}</title>", each.join(", ")),
        );
        let mut below = 0;
        for (index, (_, count)) in rows.iter().enumerate().filter(|(_, (_, count))| *count > 0) {
            let (low, high) = (y(below), y(below + count));
            put(
                svg,
                format_args!(
                    "<rect class=\"r{index}\" x=\"{:.2}\" y=\"{high:.2}\" width=\"{:.2}\" height=\"{:.2}\"/>",
                    x(*bar),
                    (x(bar + 1) - x(*bar)) * 0.9,
                    (low - high).max(0.5)
                ),
            );
            below += count;
        }
        svg.push_str("</g>\n");
    }
    let every = (bars / DATES).max(1);
    for bar in (0..bars).filter(|bar| bar % every == 0 && (bars - bar) * DATES >= bars / 2) {
        put(
            svg,
            format_args!(
                "<text x=\"{:.1}\" y=\"{}\">{}</text>\n",
                x(bar),
                HEIGHT - 8.0,
                moment(first + bar * hours, unit)
            ),
        );
    }
}

/// A bar of `count` in `most`.
pub(super) fn share(count: u64, most: u64) -> String {
    let width = 100.0 * float(count) / float(most.max(1));
    format!(
        "<svg class=\"share\" viewBox=\"0 0 100 10\" preserveAspectRatio=\"none\" aria-hidden=\"true\">\
         <rect class=\"track\" width=\"100\" height=\"10\" rx=\"1\"/><rect class=\"fill\" width=\"{width:.2}\" height=\"10\" rx=\"1\"/></svg>"
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

fn put(svg: &mut String, shape: std::fmt::Arguments<'_>) {
    svg.write_fmt(shape)
        .expect("invariant: writing to a String never fails");
}

/// Of a number that is drawn.
#[expect(
    clippy::cast_precision_loss,
    reason = "no picture shows the difference"
)]
fn float(number: u64) -> f64 {
    number as f64
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
        assert!(plot.contains("and the next 272 days: "), "{plot}");
        for hour in 0..10_000 {
            some.insert(hour, counts(1, 1, 1));
        }
        let bars = over_time(TimeUnit::Hour, &some).matches("<g>").count();
        assert!(i64::try_from(bars).unwrap() <= BARS);
        assert!(!over_time(TimeUnit::Hour, &BTreeMap::new()).contains("<g>"));
    }
}
