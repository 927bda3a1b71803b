internal import Synchronization

/// Counts the elements that streams of one kind have dropped.
@usableFromInline
final class DropCounter: Sendable {
    private let total = Atomic<Int>(0)
    private let observer: (any ActivityObserver)?
    private let event: CountedEvent

    init(_ event: CountedEvent, _ observer: (any ActivityObserver)?) { (self.event, self.observer) = (event, observer) }

    var count: Int { total.load(ordering: .relaxed) }

    @usableFromInline
    func add() {
        total.add(1, ordering: .relaxed)
        observer?.counted(event)
    }
}

/// The counters of a central's streams.
struct DropCounters: Sendable {
    let values: DropCounter
    let discoveries: DropCounter

    init(_ observer: (any ActivityObserver)?) {
        values = DropCounter(.valueDropped, observer)
        discoveries = DropCounter(.discoveryDropped, observer)
    }
}
