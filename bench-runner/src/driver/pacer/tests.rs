use std::time::Duration;

use strategies::clock::Moment;

use super::pace;
use crate::driver::queue::{Due, Queue};
use crate::driver::schedule::{Arrival, Rhythm, Schedule, Share};
use crate::plan::Arrivals;

async fn paced(schedule: Vec<Arrival>, start: Moment, capacity: usize) -> (Vec<Due>, Vec<Due>) {
    let queue = Queue::new(capacity);
    let mut turned_away = Vec::new();
    pace(schedule.into_iter(), start, &queue, |due| turned_away.push(due))
        .await
        .expect("the timer works");
    let released = std::iter::from_fn(|| queue.pop()).collect();
    (released, turned_away)
}

fn every_200_us(length: Duration) -> Vec<Arrival> {
    let rhythm = Rhythm {
        rate: 5000.0,
        arrivals: Arrivals::Uniform,
        seed: 1,
        length: length.as_nanos().try_into().expect("a short time"),
    };
    Schedule::new(rhythm, Share { instance: 0, of: 1 }).collect()
}

#[tokio::test(flavor = "current_thread")]
async fn nothing_is_released_early_or_left_out() {
    let start = Moment::now() + Duration::from_millis(5);
    let schedule = every_200_us(Duration::from_millis(200));
    let (released, turned_away) = paced(schedule.clone(), start, 2000).await;
    assert_eq!((released.len(), turned_away.len()), (1000, 0));
    for (due, arrival) in released.iter().zip(&schedule) {
        assert_eq!((due.arrival, due.intended), (arrival.number, start.0 + arrival.due));
        assert!(due.released >= due.intended, "{due:?}");
    }
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_late_is_released_at_once_and_keeps_its_intended_start() {
    let start = Moment(Moment::now().0 - 1_000_000_000);
    let began = Moment::now();
    let (released, _) = paced(every_200_us(Duration::from_millis(200)), start, 2000).await;
    assert_eq!(released.len(), 1000);
    assert!(released.iter().all(|due| due.released >= began.0 && due.intended < began.0));
}

#[tokio::test(flavor = "current_thread")]
async fn what_finds_no_room_is_handed_back() {
    let start = Moment(Moment::now().0 - 1_000_000_000);
    let (released, turned_away) = paced(every_200_us(Duration::from_millis(2)), start, 4).await;
    assert_eq!((released.len(), turned_away.len()), (4, 6));
    assert_eq!(turned_away[0].arrival, 4);
}
