import BLE
import BLETestSupport
import DBus
import Logging
import Loop
import Synchronization
import Testing

@testable import BLEBlueZ
@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// A process that can open a single descriptor, which is too few for a loop, a connection or a pair of sockets. Each
/// test has a process of its own, because the limit is the process's. The thread sanitizer needs descriptors itself: its
/// suppressions do not match without a symbolizer, which is a program.
@Suite(.startsProcesses, .hangLimit, .enabled(if: getenv("TSAN_OPTIONS") == nil))
struct DescriptorShortageTests {
    @Test func `a backend without descriptors says so, and works when there are some again`() async throws {
        let bus = try await PrivateBus()
        await #expect(processExitsWith: .success) { [address = bus.address as String] in
            let all = Descriptors()
            let early = BlueZStack(adapter: nil, address: .address(address))
            var codes: [String] = []
            // With each number of free descriptors: the process must survive with any of them.
            for _ in 0..<24 {
                for stack in [early, BlueZStack(adapter: nil, address: .address(address))] {
                    do throws(BLEError) {
                        _ = try await Central(backend: BlueZCentral(stack), configuration: .quiet())
                    } catch {
                        guard error.code == .bluetoothUnavailable, error.remedy != nil else { throw error }
                        codes.append(error.message)
                    }
                }
                all.release()
            }
            // At first too few descriptors, and in the end no bluetoothd on this bus.
            guard codes.count == 48, codes[0].contains("descriptors"), codes[1] == codes[0],
                codes[46] == "bluetoothd is not running", codes[47] == codes[46]
            else { throw BLEError(.failed, "\(codes)") }
        }
        withExtendedLifetime(bus) {}
    }

    @Test func `a central that subscribes while there are no descriptors is refused, and a later one is not`()
        async throws
    {
        let world = try await BlueZWorld(minorVersion: 80)
        let central = Peripheral.ID(rawValue: "C0:00:00:00:0A:01")
        let daemon = Task {
            await until { world.daemon.signaledValues.withLock { $0 == [[1]] } }
            await #expect(throws: ATTError.self) { try await world.daemon.pretendToSubscribe(central) }
            await world.daemon.pretend(central, isConnected: true)
            await until { world.daemon.signaledValues.withLock { $0 == [[1], [2]] } }
            _ = try await world.daemon.pretendToSubscribe(central)
            await world.daemon.pretend(central, isConnected: false)
        }
        await #expect(processExitsWith: .success) { [address = world.bus.address as String] in
            let (connected, subscribed, left) = (SharedValue(false), SharedValue(false), SharedValue(false))
            let backend = BlueZPeripheral(BlueZStack(adapter: nil, address: .address(address)))
            try await backend.start(
                PeripheralContext(
                    handleEvent: { event in
                        if case .centralConnected = event { connected.change { $0 = true } }
                        if case .subscribed = event { subscribed.change { $0 = true } }
                        // The refusal may be the end of what is known of the central.
                        if case .centralDisconnected = event, subscribed.value { left.change { $0 = true } }
                    }, read: { (_, _) throws(ATTError) in [] }, write: { (_, _, _) throws(ATTError) in },
                    logger: Logger(label: "test"), clock: ContinuousClock()))
            let characteristic = CharacteristicDefinition(BluetoothUUID(0xFFE1), .notify)
            try await backend.register(
                [ServiceDefinition(BluetoothUUID(0xFFE0), characteristics: [characteristic])], as: 1)
            let attribute = ServedAttribute(application: 1, service: 0, characteristic: 0)
            var all: Descriptors? = Descriptors()
            // Sends an event of this process to the other one.
            try await backend.notify([1], from: attribute, to: nil)
            try await connected.until { $0 }
            guard !subscribed.value else { throw BLEError(.failed, "it was not refused") }
            all?.releaseAll()
            all = nil
            try await backend.notify([2], from: attribute, to: nil)
            // Not before the other process has its socket.
            try await left.until { $0 }
        }
        try await daemon.value
    }

    @Test func `a loop without descriptors runs tasks and ends sleeps`() async {
        await #expect(processExitsWith: .success) {
            let all = Descriptors()
            let stack = BlueZStack(adapter: nil, address: .address("unix:abstract=none"))
            for _ in 0..<3 { try await stack.loop.clock.sleep(for: .milliseconds(5)) }
            await stack.leave(1)
            withExtendedLifetime(all) {}
        }
    }
}

/// All descriptors that this process can have, except one.
///
/// Once a second, while tasks wait for a thread, Dispatch opens `/proc/TID/stat` of each of its threads in turn, and
/// ends the process (SIGILL) if it cannot. So one descriptor stays free for it. For the same reason, no test waits with
/// `until` meanwhile, whose task always waits for a thread.
private final class Descriptors {
    private var all: [Int32] = []

    init() {
        var limit = rlimit(rlim_cur: 100, rlim_max: 100)
        precondition(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
        while case let next = dup(1), next >= 0 { all.append(next) }
        precondition(errno == EMFILE)
        release()
    }

    /// Closes one of them.
    func release() { if let last = all.popLast() { close(last) } }

    func releaseAll() { while !all.isEmpty { release() } }
}
