//! Five modes of events. The mode is the key's type: a listener of another shape, or a dispatch in another mode, does not
//! compile. The sixth mode has an example of its own: `waterfall`.

use cordis::{Announce, App, Bail, BoxError, Emit, Parallel, Serial};

/// A door was opened. Everybody is told.
const OPENED: Emit<u32> = Emit::new("door/opened");
/// A door is about to be locked. The first error keeps it open.
const LOCKING: Announce<u32> = Announce::new("door/locking");
/// Who has the key? The first to answer does.
const KEEPER: Bail<u32, &'static str> = Bail::new("door/keeper");
/// All alarms are to be tested, at the same time; every failure counts.
const ALARMS: Parallel<u32> = Parallel::new("door/alarms");
/// Who can come and repair it? They are asked one after another.
const REPAIR: Serial<u32, &'static str> = Serial::new("door/repair");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    let app = App::new()?;

    println!("emit: all are told, in the order of registration, `prepend` first");
    app.on(OPENED).run(|door| println!("  second: door {door}"))?;
    app.on(OPENED).run(|door| println!("  third: door {door}"))?;
    app.on(OPENED).prepend().run(|door| println!("  first: door {door}"))?;
    app.on(OPENED).once().run(|door| println!("  once: door {door}"))?;
    println!("  {} listeners before", app.listeners(OPENED));
    app.emit(OPENED, &7);
    println!("  {} listeners after", app.listeners(OPENED));

    println!("announce: the first error stops and is returned");
    app.on(LOCKING).run(|_| Ok(()))?;
    app.on(LOCKING).run(|door| Err(format!("somebody stands in door {door}").into()))?;
    app.on(LOCKING).run(|_| {
        println!("  never told");
        Ok(())
    })?;
    if let Err(refused) = app.announce(LOCKING, &7) {
        println!("  refused: {refused}");
    }

    println!("bail: the first answer counts");
    app.on(KEEPER).run(|door| (*door < 5).then_some("Ada"))?;
    app.on(KEEPER).run(|door| (*door < 9).then_some("Bob"))?;
    for door in [3, 7, 9] {
        println!("  door {door}: {:?}", app.bail(KEEPER, &door));
    }

    println!("parallel: all run to the end, and every failure comes back");
    app.on(ALARMS).run(async |_| Err("no battery".into()))?;
    app.on(ALARMS).run(async |_| Ok(()))?;
    app.on(ALARMS).run(async |_| {
        tokio::task::yield_now().await;
        Err("no siren".into())
    })?;
    if let Err(failures) = app.parallel(ALARMS, &7).await {
        println!("  {failures}");
    }

    println!("serial: one after another, until one answers");
    app.on(REPAIR).run(async |_| {
        tokio::task::yield_now().await;
        println!("  Cleo cannot");
        Ok(None)
    })?;
    app.on(REPAIR).run(async |_| Ok(Some("Dan")))?;
    println!("  {:?} comes", app.serial(REPAIR, &7).await?);
    Ok(())
}
