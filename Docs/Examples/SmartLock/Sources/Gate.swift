/// Where tasks wait until it is opened, or until they are cancelled. It belongs to one actor.
final class Gate {
    private var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastNumber = 0

    /// Whether anybody waits.
    var isOccupied: Bool { !waiting.isEmpty }

    /// Waits.
    func wait() async {
        let (opened, opener) = AsyncStream.makeStream(of: Void.self)
        lastNumber += 1
        let number = lastNumber
        waiting[number] = opener
        for await () in opened {}
        waiting[number] = nil
    }

    /// Lets all through that wait now.
    func open() {
        for opener in waiting.values { opener.finish() }
    }
}
