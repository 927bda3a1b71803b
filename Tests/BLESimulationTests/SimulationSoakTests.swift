import BLE
import BLESimulation
import BLETestSupport
import Foundation
import Testing

/// Virtual hours of faults under a maintained link with two subscribers.
///
/// A minute each time; `Scripts/soak` runs an hour (`BLE_SOAK_MINUTES`), and prints the figures.
@Suite(.hangLimit) struct SimulationSoakTests {
    private enum Fault: String, CaseIterable {
        case disconnect, linkLoss, powerCycle, unplugging, restart
    }

    private static let minutes = ProcessInfo.processInfo.environment["BLE_SOAK_MINUTES"].flatMap { Int($0) } ?? 1
    private static let output = BluetoothUUID(0xFF02)
    private static let definition = PeripheralDefinition(
        address: "C0:00:00:00:00:07", advertisement: Advertisement(localName: "Soak", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF01), characteristics: [CharacteristicDefinition(output, .notify)])
        ])

    @Test(arguments: [UInt64(1), 2, 3]) func `nothing that is sent while the link is up is missed`(
        _ seed: UInt64
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let world = try await SimulatedWorld()
        let (strap, grip) = try await world.add(Self.definition)
        try await strap.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .milliseconds(200), factor: 2, maximum: .seconds(2))))
        let received = [NotificationLog(), NotificationLog()]
        var readers: [Task<Void, any Error>] = []
        for log in received {
            let stream = try await strap.notifications(
                Characteristic(Self.output, service: BluetoothUUID(0xFF01)), overflow: .fail(capacity: 10_000))
            readers.append(Task { try await log.record(stream.events) })
        }
        var sent: [[UInt8]] = []
        var faults: [Fault: Int] = [:]
        var next = Duration.seconds(5)
        var elapsed = Duration.zero
        while elapsed < .seconds(60 * Self.minutes) {
            elapsed += .milliseconds(100)
            world.clock.advance(by: .milliseconds(100))
            for _ in 0..<30 { await Task.yield() }
            if await grip.subscriberCount(of: Self.output) > 0 {
                let value = withUnsafeBytes(of: UInt32(sent.count).littleEndian) { [UInt8]($0) }
                await grip.notify(value, from: Self.output)
                sent.append(value)
            }
            guard elapsed >= next else { continue }
            next = elapsed + .milliseconds(Int.random(in: 100...20_000, using: &random))
            let fault = Fault.allCases.randomElement(using: &random)!
            faults[fault, default: 0] += 1
            try await cause(fault, world, grip, .milliseconds(Int.random(in: 0...5000, using: &random)))
        }
        // It recovers from the last one too.
        while await grip.subscriberCount(of: Self.output) == 0 {
            world.clock.advance(by: .milliseconds(100))
            for _ in 0..<30 { await Task.yield() }
        }
        for log in received {
            try await log.until(valueCount: sent.count)
            #expect(log.values == sent)
            #expect(log.gapCount > 0)
        }
        for reader in readers { reader.cancel() }
        for reader in readers { _ = await reader.result }
        await until { await grip.subscriberCount(of: Self.output) == 0 }
        let story = faults.sorted { $0.value > $1.value }.map { "\($0.value) × \($0.key.rawValue)" }
        print(
            "soak: simulation, seed \(seed), \(Self.minutes) min: \(sent.count) values, \(received[0].gapCount) gaps, "
                + story.joined(separator: ", "))
        await world.central.shutDown()
        // No timer is left, except the radio's own.
        while world.clock.sleeperCount > 0 { await Task.yield() }
    }

    private func cause(
        _ fault: Fault, _ world: SimulatedWorld, _ grip: SimulatedPeripheral, _ outage: Duration
    ) async throws {
        switch fault {
        case .disconnect: await grip.disconnect()
        case .linkLoss: await grip.dropLink()
        case .powerCycle:
            await world.radio.setPowered(false)
            world.clock.advance(by: outage)
            await world.radio.setPowered(true)
        case .unplugging:
            await world.radio.setPresent(false)
            world.clock.advance(by: outage)
            await world.radio.setPresent(true)
        case .restart:
            await world.radio.stop()
            world.clock.advance(by: outage)
            await world.radio.restart()
        }
    }
}
