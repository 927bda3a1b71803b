internal import Synchronization

/// The right to transfer a file of a name. It lasts until the work of its storage has ended, also if the transfer ends
/// before.
final class TransferLease: Sendable {
    /// The name of the file.
    let name: String
    /// Whether no other transfer of the name has it.
    let isExclusive: Bool
    private let last = Mutex<Task<Void, Never>?>(nil)
    private let onRelease: @Sendable () -> Void

    /// - Parameter onRelease: called when the right has ended.
    init(_ name: String, isExclusive: Bool = true, onRelease: @escaping @Sendable () -> Void = {}) {
        self.name = name
        self.isExclusive = isExclusive
        self.onRelease = onRelease
    }

    /// Performs work after all work before it.
    func perform(_ work: @escaping @Sendable () async -> Void) {
        last.withLock { last in
            let before = last
            last = Task {
                await before?.value
                await work()
            }
        }
    }

    /// Ends the right after the last work.
    func release() { perform { [onRelease] in onRelease() } }
}
