import BLE
import BLEBTHome
import BLESimulation
import BLETestSupport
import BLETesting
import Dispatch
import Foundation
import Testing

@testable import BLECommand

/// What a gateway tells the service manager, in virtual time.
@Suite(.hangLimit)
struct GatewayServiceTests {
    private let world: SimulatedWorld
    private let messages = SharedValue<[String]>([])
    private let device = ListedDevice(key: "freezer", match: .address(Peripheral.ID(rawValue: "C4:7C:8D:00:00:01")))

    init() async throws { world = try await SimulatedWorld() }

    private func gateway(_ broker: MemoryBroker, clock: any Clock<Duration>, watchdog: Duration?) -> Gateway {
        var configuration = GatewayConfiguration(id: "kitchen")
        configuration.devices = [device]
        let service = ServiceManager(watchdogInterval: watchdog) { [messages] message in
            // What begins before the service manager is told.
            if message.hasPrefix("READY=1") { #expect(broker.filters.count == 3 && broker.isAskedForEvents) }
            messages.change { $0.append(message) }
            return true
        }
        return Gateway(configuration, broker: broker, clock: clock, service: service) { _ in }
    }

    /// Runs a gateway while the body runs, and ends it.
    ///
    /// - Parameter open: opens the central; nil for one that is there.
    private func withGateway(
        watchdog: Duration? = nil, open: (@Sendable () async throws -> Central)? = nil,
        _ body: (MemoryBroker) async throws -> Void
    ) async throws {
        let broker = MemoryBroker()
        let gateway = gateway(broker, clock: world.clock, watchdog: watchdog)
        let central = world.central
        let run = Task(executorPreference: world.radio.taskExecutor) { try await gateway.run(open ?? { central }) }
        try await messages.until { !$0.isEmpty }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(broker))
        } catch {
            result = .failure(error)
        }
        run.cancel()
        _ = await run.result
        try result.get()
        #expect(messages.value.firstIndex(of: "STOPPING=1") == messages.value.count - 1)
    }

    @Test func `it is ready before the broker and Bluetooth are`() async throws {
        try await withGateway(open: { try await Self.never() }) { _ in
            #expect(
                messages.value == [
                    "READY=1\nSTATUS=broker: connecting; Bluetooth: not available yet; 0 devices"
                ])
        }
    }

    private static func never() async throws -> Never {
        await untilCancelled()
        throw CancellationError()
    }

    @Test func `the status tells of the broker, of Bluetooth and of the devices, in one line`() async throws {
        try await withGateway { broker in
            broker.send(.disconnected(reason: "refused\nMAINPID=1"))
            await world.clock.run(for: .seconds(10))
            #expect(
                messages.value.last
                    == "STATUS=broker: refused\u{FFFD}MAINPID=1; Bluetooth: on; 0 devices")
            broker.send(.connected)
            var advertisement = Advertisement(localName: "Thermometer")
            try BTHome([try BTHomeObject(try #require(BTHomeKind(id: 2)), value: 4)]).encode(into: &advertisement)
            _ = await world.radio.add(
                PeripheralDefinition(
                    address: "C4:7C:8D:00:00:01", advertisement: advertisement, services: []))
            await world.clock.run(for: .seconds(10))
            #expect(messages.value.last == "STATUS=broker: connected; Bluetooth: on; 1 device")
            await world.radio.setPowered(false)
            await world.clock.run(for: .seconds(10))
            #expect(messages.value.last == "STATUS=broker: connected; Bluetooth: the adapter is off; 1 device")
            let count = messages.value.count
            await world.clock.run(for: .seconds(3600))
            #expect(messages.value.count == count)
        }
    }

    private var lifeSigns: Int { messages.value.count { $0.hasSuffix("WATCHDOG=1") } }

    @Test func `it lives as long as the broker's client has turns`() async throws {
        try await withGateway(watchdog: .seconds(30)) { broker in
            await world.clock.run(for: .seconds(3600))
            #expect(lifeSigns == 121)
            broker.isHanging.change { $0 = true }
            await world.clock.run(for: .seconds(3600))
            #expect(lifeSigns == 121)
            broker.isHanging.change { $0 = false }
            try await messages.until { $0.count { $0.hasSuffix("WATCHDOG=1") } == 122 }
        }
    }

    @Test func `it is silent while its lock is held`() async throws {
        let (isHeld, release) = (SharedValue(false), DispatchSemaphore(value: 0))
        let broker = MemoryBroker { message in
            guard message.topic.hasSuffix("/availability") else { return }
            isHeld.change { $0 = true }
            release.wait()
        }
        let clock = ManualClock()
        let gateway = gateway(broker, clock: clock, watchdog: .seconds(10))
        let run = Task(executorPreference: Threads()) { try await gateway.run { try await Self.never() } }
        try await messages.until { !$0.isEmpty }
        await clock.sleepers(for: .seconds(5))
        // The answer to this message is published under the lock.
        let origin = Array(#"{"gateway":"kitchen","entry":"freezer"}"#.utf8)
        broker.send(ReceivedMessage(topic: "ble/device/c47c8d000001/origin", payload: origin, isRetained: true))
        try await isHeld.until { $0 }
        for _ in 0..<12 {
            clock.advance(by: .seconds(5))
            for _ in 0..<1000 { await Task.yield() }
        }
        #expect(messages.value.count == 1)
        release.signal()
        try await messages.until { $0.last == "WATCHDOG=1" }
        run.cancel()
        try await run.value
    }

    @Test func `an end with an error is told, too`() async throws {
        let gateway = gateway(MemoryBroker(), clock: world.clock, watchdog: nil)
        await expectError(.unauthorized) { try await gateway.run { throw BLEError(.unauthorized, "no") } }
        #expect(messages.value.last == "STOPPING=1")
    }
}

/// Runs each step of a task on a thread of its own, so that a blocked one blocks no other.
private final class Threads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let (job, executor) = (UnownedJob(job), asUnownedTaskExecutor())
        Thread.detachNewThread { job.runSynchronously(on: executor) }
    }
}
