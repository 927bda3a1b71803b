import BLE
import Dispatch
import SystemPackage
import Synchronization
internal import Waiting

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A file that the command line names.
enum InputFile {
    enum Failure: Error, CustomStringConvertible {
        case unreadable(String)
        case tooLarge(limit: Int)

        var description: String {
            switch self {
            case .unreadable(let reason): "cannot be read: \(reason)"
            case .tooLarge(let limit): "has more than \(limit) bytes"
            }
        }
    }

    /// Returns the bytes of a file, which may be a pipe or a device. Throws ``Failure``, or `CancellationError` if the
    /// task is cancelled while the file has no more bytes.
    static func read(_ path: String, limit: Int) async throws -> [UInt8] {
        let isCancelled = Flag()
        let outcome = Outcome<Result<[UInt8], any Error>>()
        // Opening and reading can block.
        DispatchQueue.global().async {
            let read = Result { try Self.read(path, limit: limit, until: isCancelled) }
            outcome.deliver(.success(read))
        }
        return try await withTaskCancellationHandler {
            guard let read = try? await outcome.wait() else { throw CancellationError() }
            return try read.get()
        } onCancel: {
            isCancelled.set()
        }
    }

    private final class Flag: Sendable {
        private let state = Mutex(false)

        var isSet: Bool { state.withLock(\.self) }

        func set() { state.withLock { $0 = true } }
    }

    /// The longest wait until a cancellation ends the thread, in milliseconds.
    private static let patience: Int32 = 100

    private static func read(_ path: String, limit: Int, until isCancelled: Flag) throws -> [UInt8] {
        do {
            // A pipe without a writer does not block then.
            let descriptor = try FileDescriptor.open(path, .readOnly, options: [.nonBlocking, .closeOnExec])
            return try descriptor.closeAfter {
                var status = stat()
                let isPipe = fstat(descriptor.rawValue, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
                // A pipe is at its end only after it has had a writer.
                var canEnd = !isPipe
                var bytes: [UInt8] = []
                var part = [UInt8](repeating: 0, count: min(limit + 1, 65_536))
                while !isCancelled.isSet {
                    do {
                        let count = try part.withUnsafeMutableBytes { try descriptor.read(into: $0) }
                        bytes += part[..<count]
                        guard bytes.count <= limit else { throw Failure.tooLarge(limit: limit) }
                        if count == 0, canEnd { return bytes }
                        if count > 0 {
                            canEnd = true
                            continue
                        }
                    } catch Errno.resourceTemporarilyUnavailable {
                        canEnd = true
                    }
                    var state = pollfd(fd: descriptor.rawValue, events: Int16(POLLIN), revents: 0)
                    if poll(&state, 1, patience) > 0, state.revents & Int16(POLLHUP) != 0 { canEnd = true }
                }
                throw CancellationError()
            }
        } catch let error as Errno {
            throw Failure.unreadable("\(error)")
        }
    }
}
