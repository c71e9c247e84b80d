//! Marks: points that a migration got to, behind its steps.

use super::frames::FrameKind;
pub(crate) use crate::records::JournalMark as Mark;

/// Returns the frame of a mark: its kind, and five numbers.
pub(super) fn numbers(mark: Mark) -> (FrameKind, [u64; 5]) {
    match mark {
        Mark::Progress {
            directories,
            steps,
            left,
        } => (FrameKind::Progress, [directories, steps, left, 0, 0]),
        Mark::Finished {
            done,
            before,
            left,
            planning_left,
            planning_unread,
        } => (
            FrameKind::Finished,
            [done, before, left, planning_left, planning_unread],
        ),
        Mark::Undoing => (FrameKind::Undoing, [0; 5]),
        Mark::Undone { done, before, left } => (FrameKind::Undone, [done, before, left, 0, 0]),
        Mark::Linking => (FrameKind::Linking, [0; 5]),
        Mark::Growing => (FrameKind::Growing, [0; 5]),
    }
}

/// Reads a mark; `None` if the frame is none.
pub(super) fn read(kind: FrameKind, numbers: [u64; 5]) -> Option<Mark> {
    let [done, before, left, planning_left, planning_unread] = numbers;
    Some(match kind {
        FrameKind::Progress => Mark::Progress {
            directories: done,
            steps: before,
            left,
        },
        FrameKind::Finished => Mark::Finished {
            done,
            before,
            left,
            planning_left,
            planning_unread,
        },
        FrameKind::Undoing => Mark::Undoing,
        FrameKind::Undone => Mark::Undone { done, before, left },
        FrameKind::Linking => Mark::Linking,
        FrameKind::Growing => Mark::Growing,
        FrameKind::Header | FrameKind::Job | FrameKind::Complete => return None,
    })
}
