use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;

use tokio_util::sync::CancellationToken;

use super::*;

fn refuse(_: Arc<Pool>) -> io::Result<()> {
    Err(io::Error::other("out of threads"))
}

/// The system gives one thread and no more.
fn one(pool: Arc<Pool>) -> io::Result<()> {
    let threads = pool.state.lock().threads;
    if threads > 1 { refuse(pool) } else { spawn(pool) }
}

fn link() -> Arc<Link> {
    Link::new(CancellationToken::new())
}

fn no_thread(held: usize, tools: &[&str]) -> NotBegun {
    let tools = tools.iter().map(|tool| (*tool).to_owned()).collect();
    NotBegun::NoThread(NoThread { held, tools, refused: Some("out of threads".to_owned()) })
}

/// Starts work that ends when the sender is dropped; it has begun.
fn stuck(threads: &Threads, tool: &str) -> (mpsc::Sender<()>, Job<()>) {
    let (free, waits) = mpsc::channel();
    let (tell, begun) = mpsc::channel();
    let job = threads.start(tool, link(), move || {
        let _ = tell.send(());
        let _ = waits.recv();
    });
    assert_eq!(begun.recv(), Ok(()));
    (free, job)
}

struct Bomb(Arc<AtomicUsize>);

impl Drop for Bomb {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
        panic!("it burst when it was dropped")
    }
}

#[tokio::test]
async fn work_for_which_the_system_gives_no_thread_at_all_is_refused() {
    let threads = Threads::spawned_by(4, refuse);
    assert_eq!(threads.start("t", link(), || 1).await, Err(no_thread(0, &[])));
    assert_eq!(threads.count(), Count::default());
}

#[tokio::test]
async fn work_waits_for_the_thread_that_there_is_where_the_system_gives_no_further_one() {
    let threads = Threads::spawned_by(4, one);
    let (free, first) = stuck(&threads, "t");
    let second = threads.start("t", link(), || 2);
    assert_eq!(threads.count(), Count { threads: 1, idle: 0, waiting: 1 });
    drop(free);
    assert_eq!((first.await, second.await), (Ok(()), Ok(2)));
}

#[tokio::test]
async fn work_is_refused_where_the_system_gives_no_further_thread_and_none_that_there_is_comes_free() {
    let threads = Threads::spawned_by(4, one);
    let (free, first) = stuck(&threads, "held");
    let waiting = threads.start("t", link(), || 2);
    first.let_go();
    assert_eq!(waiting.await, Err(no_thread(1, &["held"])));
    assert_eq!(threads.start("t", link(), || 3).await, Err(no_thread(1, &["held"])));
    drop(free);
    assert_eq!(first.await, Ok(()));
    while threads.count().idle == 0 {
        tokio::task::yield_now().await;
    }
    assert_eq!(threads.start("t", link(), || 4).await, Ok(4));
}

#[tokio::test]
async fn what_refused_work_holds_may_panic_when_it_is_dropped_and_all_are_told() {
    let threads = Threads::spawned_by(4, one);
    let (free, first) = stuck(&threads, "held");
    let dropped = Arc::new(AtomicUsize::new(0));
    let jobs: Vec<Job<()>> = (0..3)
        .map(|_| {
            let bomb = Bomb(Arc::clone(&dropped));
            threads.start("t", link(), move || drop(bomb))
        })
        .collect();
    first.let_go();
    for job in jobs {
        assert_eq!(job.await, Err(no_thread(1, &["held"])));
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 3);
    drop(free);
}

#[tokio::test]
async fn what_withdrawn_work_holds_may_panic_when_it_is_dropped() {
    let threads = Threads::new(1);
    let (free, _first) = stuck(&threads, "held");
    let dropped = Arc::new(AtomicUsize::new(0));
    let bomb = Bomb(Arc::clone(&dropped));
    let waiting = threads.start("t", link(), move || drop(bomb));
    assert!(waiting.withdraw());
    assert_eq!(dropped.load(Ordering::SeqCst), 1);
    assert_eq!(threads.count(), Count { threads: 1, idle: 0, waiting: 0 });
    drop(free);
}

#[tokio::test(start_paused = true)]
async fn work_that_nobody_waits_for_is_counted_on_for_its_grace_and_no_longer() {
    let threads = Threads::new(1);
    let (free, left) = stuck(&threads, "left");
    drop(left);
    let waiting = threads.start("t", link(), || 2);
    let grace = Duration::from_secs(1);
    waiting.let_go_of_left(grace);
    assert!(waiting.is_short_of_threads());
    tokio::time::advance(grace).await;
    waiting.let_go_of_left(grace);
    let why = NoThread { held: 1, tools: vec!["left".to_owned()], refused: None };
    assert_eq!(waiting.await, Err(NotBegun::NoThread(why)));
    drop(free);
}

#[tokio::test]
async fn work_is_short_of_threads_only_if_none_is_on_its_way() {
    // They never come to their work.
    let coming = Threads::spawned_by(1, |_| Ok(()));
    let first = coming.start("t", link(), || 1);
    assert!(!first.is_short_of_threads());
    let second = coming.start("t", link(), || 2);
    assert!(second.is_short_of_threads());
    assert_eq!(coming.count(), Count { threads: 1, idle: 0, waiting: 2 });
}
