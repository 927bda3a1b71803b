internal import Loop

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// A program that the kernel runs for each packet of the management interface before it queues it for this program:
/// each socket would otherwise receive the advertisements of all adapters, and those of Classic devices.
struct ManagementFilter {
    /// A `struct sock_filter` of the kernel's `linux/filter.h`.
    private struct Instruction {
        var code: UInt16
        var whenTrue: UInt8 = 0
        var whenFalse: UInt8 = 0
        var operand: UInt32

        /// Loads two bytes, the most significant first. Without them, the packet is dropped.
        static func load2(at position: UInt32) -> Self { Self(code: 0x28, operand: position) }
        static func load1(at position: UInt32) -> Self { Self(code: 0x30, operand: position) }
        /// Skips so many instructions if the loaded number is equal, or if it is not.
        static func compare(_ number: UInt16, then whenTrue: UInt8, else whenFalse: UInt8) -> Self {
            Self(code: 0x15, whenTrue: whenTrue, whenFalse: whenFalse, operand: UInt32(number))
        }
        /// Accepts so many bytes of the packet; drops it if there are none.
        static func accept(_ count: UInt32) -> Self { Self(code: 0x06, operand: count) }
    }

    /// A `struct sock_fprog`.
    private struct Program {
        let count: UInt16
        let instructions: UnsafePointer<Instruction>
    }

    private let instructions: [Instruction]

    /// Accepts the events of an adapter that are used here, and of these *Device Found* only if the device is not a
    /// Classic one.
    ///
    /// - Parameter adapter: the number of the adapter: 0 for `hci0`.
    init(adapter: UInt16) {
        typealias Event = ManagementPacket.Event
        // The interface has the least significant byte first.
        instructions = [
            .load2(at: 2),
            .compare(adapter.byteSwapped, then: 0, else: 10),
            .load2(at: 0),
            .compare(Event.deviceFound.byteSwapped, then: 5, else: 0),
            .compare(Event.discovering.byteSwapped, then: 6, else: 0),
            .compare(Event.commandComplete.byteSwapped, then: 5, else: 0),
            .compare(Event.commandStatus.byteSwapped, then: 4, else: 0),
            .compare(Event.deviceConnected.byteSwapped, then: 3, else: 0),
            .compare(Event.connectFailed.byteSwapped, then: 2, else: 3),
            .load1(at: 12),
            .compare(0, then: 1, else: 0),
            .accept(UInt32.max),
            .accept(0),
        ]
    }

    /// Has the kernel filter the packets of a socket from now on. What arrived before stays. A kernel that does not
    /// filter leaves it to the reader. Returns its error then.
    func attach(to socket: FileDescriptor) -> SystemError? {
        instructions.withUnsafeBufferPointer { buffer in
            guard let start = buffer.baseAddress else { return nil }
            let program = Program(count: UInt16(buffer.count), instructions: start)
            let result = withUnsafePointer(to: program) {
                setsockopt(
                    socket.rawValue, SOL_SOCKET, 26, $0, socklen_t(MemoryLayout<Program>.size))  // SO_ATTACH_FILTER
            }
            return result == 0 ? nil : SystemError(number: errno)
        }
    }
}
