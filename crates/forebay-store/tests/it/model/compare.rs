//! Whether store and model are the same.

use forebay_store::{List, QueueId};

use super::{
    NAMES, Run,
    kept::{name, table},
};

impl Run {
    pub(super) fn compare(&mut self) {
        let stats = self.store.stats();
        assert_eq!(stats.queues, self.kept.queues.len() as u64);
        let pending = self.kept.queues.values().map(|q| q.messages.len() as u64);
        assert_eq!(stats.pending, pending.sum::<u64>());
        let queues: Vec<QueueId> = self.kept.queues.keys().copied().collect();
        for queue in queues {
            self.compare_queue(queue);
        }
        for number in 0..NAMES {
            assert_eq!(self.store.queue(&name(number)), self.kept.queue(number));
        }
        for number in 0..3 {
            let rows = self.store.scan(table(number)).map(|(k, v)| (&**k, &**v));
            let kept = self.kept.rows.iter().filter(|((of, _), _)| *of == number);
            assert!(rows.eq(kept.map(|((_, k), v)| (&**k, &**v))));
        }
    }

    fn compare_queue(&mut self, queue: QueueId) {
        let (fifo, store) = (&self.kept.queues[&queue], &mut self.store);
        let view = self.views.entry(queue).or_default();
        let info = store.queue_info(queue).expect("it is there");
        assert_eq!(info.next_rowid, fifo.next);
        assert_eq!(info.pending, fifo.messages.len() as u64);
        let first = fifo.messages.keys().next().copied();
        assert_eq!(info.first_pending, first.unwrap_or(fifo.next));
        assert_eq!(info.inflight, view.inflight.len() as u64);
        assert_eq!(info.queued, view.queued.len() as u64);
        assert_eq!(info.load_failed, view.failed.is_some());
        for (list, expected) in [
            (List::Inflight, &view.inflight),
            (List::Queued, &view.queued),
        ] {
            assert!(store.list(queue, list, ..).eq(expected.iter().copied()));
            let back = store.list(queue, list, ..).rev();
            assert!(back.eq(expected.iter().rev().copied()));
            let mut after = 0;
            for &rowid in expected {
                assert_eq!(store.next(queue, list, after), Some(rowid));
                after = rowid;
            }
            assert_eq!(store.next(queue, list, after), None);
        }
        let next = view.queued.iter().find(|it| !view.skipped.contains(it));
        assert_eq!(store.next_queued(queue), next.copied());
        for rowid in 0..=fifo.next {
            let (list, found) = (view.list_of(rowid), store.message(queue, rowid));
            assert_eq!(
                store.by_rowid(queue, rowid),
                found.clone().filter(|_| list.is_some())
            );
            let found = found.map(|it| (it.flag, it.packet_id, it.note.to_vec(), it.len, it.list));
            let expected = fifo.messages.get(&rowid).map(|it| {
                let len = it.content.1.len() as u32;
                (it.flag, it.packet_id, it.note.clone(), len, list)
            });
            assert_eq!(found, expected);
        }
        for id in 0..6 {
            let has = |rowid: &&u64| id != 0 && fifo.messages[rowid].packet_id == id;
            let inflight = view.inflight.iter().find(has);
            let expected = inflight.or_else(|| view.queued.iter().find(has));
            let found = store.by_packet_id(queue, id).map(|it| it.rowid);
            assert_eq!(found.as_ref(), expected);
        }
        let with_id = fifo.messages.iter().filter(|(_, it)| it.packet_id != 0);
        assert!(
            with_id
                .map(|(&rowid, _)| rowid)
                .eq(store.with_packet_id(queue))
        );
        for rowid in &view.inflight {
            match store.content(queue, *rowid) {
                Ok(content) => {
                    let expected = &fifo.messages[rowid].content;
                    assert_eq!((content.time, &*content.bytes), (expected.0, &*expected.1));
                }
                Err(error) => assert!(self.reads_fail, "{error}"),
            }
        }
    }
}
