use cordis::*;
use std::{sync::{Arc, Mutex, atomic::{AtomicU32, Ordering::SeqCst}}, time::Duration};
const X: Emit<u32> = Emit::new("x");
const W: Waterfall<u32, u32> = Waterfall::new("w");
const S: Serial<u32, u32> = Serial::new("s");
const P: Parallel<u32> = Parallel::new("p");
const SVC: Key<AtomicU32> = Key::new("svc");
struct Base;
impl Base { async fn body(&self, a: &mut u32) -> u32 { *a } }
async fn body(ctx: &Context, svc: Handle<AtomicU32>, log: &Arc<Mutex<Vec<String>>>) -> Result<(), BoxError> {
    log.lock().unwrap().push("load".into());
    let l = log.clone();
    ctx.on(X).with((svc, log.clone())).run(|(svc, log), n| log.lock().unwrap().push(format!("x{n} {}", svc.get().map(|s| s.load(SeqCst)).unwrap_or(99))))?;
    ctx.effect("bye", async move || l.lock().unwrap().push("undo".into()))?;
    Ok(())
}
#[tokio::test]
async fn all_of_it_works() {
    let app = App::new().unwrap();
    let log: Arc<Mutex<Vec<String>>> = Arc::default();
    let f = app.plugin(define("dep").needs(SVC).run(body), log.clone()).unwrap();
    assert_eq!(f.ready().await.unwrap(), State::Pending);
    println!("{:?}", app.check());
    let e = app.provide(SVC, Arc::new(AtomicU32::new(7))).unwrap();
    assert_eq!(f.ready().await.unwrap(), State::Active);
    app.emit(X, &1);
    println!("{}", app.inspect());
    e.dispose().await;
    assert_eq!(f.state(), State::Pending);
    app.emit(X, &2);
    app.provide(SVC, Arc::new(AtomicU32::new(8))).unwrap();
    f.until(State::Active).await;
    app.emit(X, &3);
    println!("{:?}", f.dispose().await);
    assert_eq!(*log.lock().unwrap(), ["load", "x1 7", "undo", "load", "x3 8", "undo"]);
    app.on(W).run(async |a, next| { *a += 1; next.run(a).await + 10 }).unwrap();
    app.on(W).with(5u32).run(async |s, a, next| { tokio::time::sleep(Duration::from_millis(1)).await; *a += *s; next.run(a).await + 100 }).unwrap();
    assert_eq!(app.waterfall(W, &mut 1, &Base, Base::body).await.unwrap(), 117);
    app.on(S).run(async |n| Ok((*n > 3).then_some(*n))).unwrap();
    app.on(S).run(async |n| Ok(Some(*n * 2))).unwrap();
    assert_eq!(app.serial(S, &1).await.unwrap(), Some(2));
    assert_eq!(app.serial(S, &4).await.unwrap(), Some(4));
    app.on(P).run(async |_| { tokio::task::yield_now().await; Err("a".into()) }).unwrap();
    app.on(P).run(async |_| panic!("b")).unwrap();
    println!("{}", app.parallel(P, &1).await.unwrap_err());
    println!("{:?}", app.shutdown().await);
    assert!(app.on(X).run(|_| ()).is_err());
}
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn chain_of_ten_thousand() {
    let app = App::new().unwrap();
    let keys: Vec<Key<u32>> = (0..10_001).map(|i| Key::new(Box::leak(format!("k{i}").into_boxed_str()))).collect();
    let t = std::time::Instant::now();
    let fibers: Vec<_> = keys.windows(2).map(|k| app.plugin(define("link").needs(k[0]).run(async |ctx: &Context, _h: Handle<u32>, k: &Key<u32>| { ctx.provide(*k, Arc::new(1))?; Ok(()) }), k[1]).unwrap()).collect();
    println!("mount {:?}", t.elapsed());
    for _ in 0..3 {
        let t = std::time::Instant::now();
        let e = app.provide(keys[0], Arc::new(1)).unwrap();
        fibers.last().unwrap().until(State::Active).await;
        println!("up {:?}", t.elapsed());
        let t = std::time::Instant::now();
        e.dispose().await;
        println!("down {:?}", t.elapsed());
    }
}
