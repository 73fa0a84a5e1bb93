//! The thread team: every task once, whatever the team; panics, nesting, interruption; a stress test of its protocol.

use deckle_runtime::Team;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const TEAMS: [usize; 5] = [1, 2, 3, 5, 9];
const ROUNDS: usize = if cfg!(miri) { 20 } else { 20_000 };

#[test]
fn every_task_is_done_once() {
    for threads in TEAMS {
        let team = Team::new(threads);
        assert_eq!(team.threads(), threads);
        for tasks in [0, 1, 2, 3, 100] {
            let counts: Vec<AtomicU32> = (0..tasks).map(|_| AtomicU32::new(0)).collect();
            team.run(tasks, &|task, worker| {
                assert!(worker < threads);
                counts[task].fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
            assert!(counts.iter().all(|c| c.load(Ordering::Relaxed) == 1), "{threads} threads, {tasks} tasks");
        }
    }
}

#[test]
fn a_team_has_at_least_its_caller() {
    let team = Team::new(0);
    assert_eq!(team.threads(), 1);
    let here = std::thread::current().id();
    team.run(3, &|_, worker| assert_eq!((worker, std::thread::current().id()), (0, here))).unwrap();
}

/// Plain (not atomic) writes of tasks must be seen by the caller and by the tasks of the next job, and a job's closure
/// must not be used after its run: under Miri or a sanitizer a hole in the protocol shows here.
#[test]
fn stress_jobs_of_all_sizes_follow_one_another() {
    for threads in [2, 3, 5] {
        let team = Team::new(threads);
        let mut cells = vec![0u64; 64];
        let mut expected = 0;
        for round in 0..ROUNDS / threads {
            let tasks = round % 7;
            let step = round as u64 % 13;
            let on_stack = [step; 4];
            let base = SendPtr(cells.as_mut_ptr());
            team.run(tasks, &|task, _| {
                let base = &base;
                // SAFETY: each task has a cell of its own, and `cells` is not used otherwise meanwhile.
                #[allow(unsafe_code)]
                unsafe {
                    *base.0.add(task) += on_stack[task % 4]
                };
            })
            .unwrap();
            expected += tasks as u64 * step;
            if round % 97 == 0 {
                // Long enough for the workers to fall asleep.
                std::thread::sleep(Duration::from_micros(200));
            }
            assert_eq!(cells.iter().sum::<u64>(), expected, "round {round}");
        }
    }
}

struct SendPtr(*mut u64);
// SAFETY: used on disjoint cells.
#[allow(unsafe_code)]
unsafe impl Sync for SendPtr {}

#[test]
fn no_two_tasks_have_the_same_worker_at_once() {
    for threads in TEAMS {
        let team = Team::new(threads);
        let busy: Vec<AtomicBool> = (0..threads).map(|_| AtomicBool::new(false)).collect();
        let check = |_, worker: usize| {
            assert!(!busy[worker].swap(true, Ordering::SeqCst));
            std::thread::yield_now();
            busy[worker].store(false, Ordering::SeqCst);
        };
        // Several callers take turns.
        std::thread::scope(|s| {
            for _ in 0..3 {
                s.spawn(|| (0..20).for_each(|round| team.run(round % 4, &check).unwrap()));
            }
        });
    }
}

#[test]
fn all_threads_take_part_in_long_tasks() {
    let team = Team::new(4);
    let inside = AtomicUsize::new(0);
    // Each task waits until four are inside: only four threads at once can finish this.
    team.run(4, &|_, _| {
        inside.fetch_add(1, Ordering::SeqCst);
        while inside.load(Ordering::SeqCst) < 4 {
            std::thread::yield_now();
        }
    })
    .unwrap();
}

#[test]
fn a_run_inside_a_task_is_done_by_its_worker() {
    for threads in TEAMS {
        let team = Team::new(threads);
        let sum = AtomicU64::new(0);
        team.run(4, &|outer, worker| {
            team.run(5, &|inner, same| {
                assert_eq!(same, worker);
                sum.fetch_add((outer * 5 + inner) as u64, Ordering::Relaxed);
            })
            .unwrap();
        })
        .unwrap();
        assert_eq!(sum.into_inner(), (0..20).sum());
    }
}

#[test]
fn a_task_may_run_a_job_of_another_team() {
    let (outer, inner) = (Team::new(2), Team::new(3));
    let count = AtomicUsize::new(0);
    outer
        .run(4, &|_, _| {
            inner
                .run(5, &|_, _| {
                    count.fetch_add(1, Ordering::Relaxed);
                })
                .unwrap();
        })
        .unwrap();
    assert_eq!(count.into_inner(), 20);
}

#[test]
fn the_panic_of_a_task_reaches_the_caller_when_all_have_stopped() {
    for threads in TEAMS {
        let team = Team::new(threads);
        let running = AtomicUsize::new(0);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            team.run(50, &|task, _| {
                running.fetch_add(1, Ordering::SeqCst);
                let stops = task == 7;
                if !stops {
                    std::thread::yield_now();
                }
                running.fetch_sub(1, Ordering::SeqCst);
                if stops {
                    std::panic::panic_any(format!("task {task}"));
                }
            })
        }));
        assert_eq!(running.load(Ordering::SeqCst), 0);
        assert_eq!(outcome.unwrap_err().downcast_ref::<String>().unwrap(), "task 7");
        // The team still works.
        let count = AtomicUsize::new(0);
        team.run(10, &|_, _| {
            count.fetch_add(1, Ordering::Relaxed);
        })
        .unwrap();
        assert_eq!(count.into_inner(), 10);
    }
}

#[test]
fn an_interrupt_stops_between_tasks() {
    for threads in TEAMS {
        let flag = Arc::new(AtomicBool::new(false));
        let team = Team::with_interrupt(threads, flag.clone());
        let count = AtomicUsize::new(0);
        let outcome = team.run(10_000, &|_, _| {
            if count.fetch_add(1, Ordering::SeqCst) == 10 {
                flag.store(true, Ordering::SeqCst);
            }
        });
        assert!(outcome.is_err());
        assert!(count.load(Ordering::SeqCst) <= 10 + threads, "{count:?}");
        assert!(team.run(1, &|_, _| ()).is_err());
        flag.store(false, Ordering::SeqCst);
        assert!(team.run(1, &|_, _| ()).is_ok());
    }
}

#[test]
fn teams_come_and_go() {
    for round in 0..if cfg!(miri) { 5 } else { 200 } {
        let team = Team::new(round % 6);
        if round % 2 == 0 {
            team.run(3, &|_, _| ()).unwrap();
        }
    }
}

fn median(mut f: impl FnMut()) -> Duration {
    let mut times: Vec<Duration> = (0..200)
        .map(|_| {
            let start = Instant::now();
            f();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[times.len() / 2]
}

/// Compared with threads started for the purpose. The factor is ten to a hundred; one is enough to notice that workers sleep.
#[test]
#[cfg_attr(miri, ignore = "timing")]
fn a_dispatch_costs_less_than_starting_a_thread() {
    let team = Team::new(2);
    let ours = median(|| team.run(2, &|_, _| ()).unwrap());
    let spawned = median(|| std::thread::scope(|s| drop(s.spawn(|| ()))));
    assert!(ours < spawned, "{ours:?}, a thread takes {spawned:?}");
}

/// More threads than cores: those that spin must let those with work have the core.
#[test]
#[cfg_attr(miri, ignore = "timing")]
fn a_crowded_team_is_not_much_slower_than_one_thread() {
    let work = |task: usize, _: usize| {
        std::hint::black_box((0..20_000u64).fold(task as u64, |a, b| a ^ (b * a)));
    };
    let one = Team::new(1);
    let crowd = Team::new(4 * deckle_runtime::cpu::usable_cores() + 1);
    let alone = median(|| one.run(16, &work).unwrap());
    let crowded = median(|| crowd.run(16, &work).unwrap());
    assert!(crowded < 20 * alone, "{crowded:?}, alone {alone:?}");
}
