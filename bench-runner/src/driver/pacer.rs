//! Lets operations go when they are due: never early, never left out, however late.

use std::io;

use strategies::clock::Moment;
use workloads::timer::Alarm;

use crate::driver::queue::{Due, Queue};
use crate::driver::schedule::Arrival;

/// After so many overdue operations in a row the workers get their turn.
const BURST: u32 = 64;

/// Lets each arrival of `schedule` go into `queue` when it is due, counted from `start`; hands what finds no room to
/// `turned_away`. Closes the queue at the end.
///
/// # Errors
///
/// When the kernel refuses a timer.
pub async fn pace(
    schedule: impl Iterator<Item = Arrival>,
    start: Moment,
    queue: &Queue,
    mut turned_away: impl FnMut(Due),
) -> io::Result<()> {
    let alarm = Alarm::new()?;
    let mut burst = 0;
    for arrival in schedule {
        let intended = Moment(start.0 + arrival.due);
        let mut now = Moment::now();
        if now < intended {
            burst = 0;
            alarm.until(intended).await?;
            now = Moment::now();
        } else if burst == BURST {
            burst = 0;
            tokio::task::yield_now().await;
            now = Moment::now();
        }
        burst += 1;
        let due = Due { arrival: arrival.number, intended: intended.0, released: now.0 };
        if let Err(due) = queue.push(due) {
            turned_away(due);
        }
    }
    queue.close();
    Ok(())
}

#[cfg(test)]
mod tests;
