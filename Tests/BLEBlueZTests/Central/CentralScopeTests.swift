import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Loop
import Testing

@testable import BLEBlueZ

@Suite(.startsProcesses, .hangLimit)
struct CentralScopeTests {
    private struct Stop: Error {}

    private func backend(_ world: BlueZWorld) -> BlueZCentral { BlueZCentral(world.makeStack()) }

    @Test func `the closure, what it awaits and its child tasks run on the thread that delivers`() async throws {
        let world = try await BlueZWorld()
        _ = await world.radio.add(.heartRateStrap(beatsPerMinute: 64))
        let backend = backend(world)
        let loop = backend.stack.loop
        let places = try await withCentral(backend: backend, configuration: .quiet()) { central in
            var places = [loop.isCurrent]
            for try await _ in central.discoveries() {
                places.append(loop.isCurrent)
                break
            }
            async let child = loop.isCurrent
            places.append(await child)
            try await central.clock.sleep(for: .milliseconds(1))
            return places + [loop.isCurrent]
        }
        #expect(places == [true, true, true, true])
        // Others do not.
        #expect(await Task { loop.isCurrent }.value == false)
        await world.daemon.kill()
    }

    @Test func `the central is shut down at the end: with a result, an error, and when it is cancelled`() async throws {
        let world = try await BlueZWorld()
        let first = try await withCentral(backend: backend(world), configuration: .quiet()) { $0 }
        await #expect(throws: BLEError.self) { _ = try await first.adapters() }

        let second = SharedValue<Central?>(nil)
        await #expect(throws: Stop.self) {
            try await withCentral(backend: self.backend(world), configuration: .quiet()) { central in
                second.change { $0 = central }
                throw Stop()
            }
        }
        await #expect(throws: BLEError.self) { _ = try await second.value?.adapters() }

        let third = SharedValue<Central?>(nil)
        let task = Task {
            try await withCentral(backend: self.backend(world), configuration: .quiet()) { central in
                third.change { $0 = central }
                for try await _ in central.discoveries(matching: .service(BluetoothUUID(0x1234))) {}
            }
        }
        while third.value == nil { await Task.yield() }
        task.cancel()
        _ = await task.result
        await #expect(throws: BLEError.self) { _ = try await third.value?.adapters() }
        await world.daemon.kill()
    }

    @Test func `a backend without a thread of its own runs the closure anywhere`() async throws {
        let radio = SimulatedRadio()
        _ = await radio.add(.heartRateStrap(beatsPerMinute: 64))
        let found = try await withCentral(backend: .simulated(radio), configuration: .quiet()) { central in
            for try await found in central.discoveries() { return found.peripheral.id }
            return Peripheral.ID(rawValue: "")
        }
        #expect(!found.rawValue.isEmpty)
    }

    @Test func `nothing is lost while the closure blocks the thread, which is reported`() async throws {
        let world = try await BlueZWorld()
        let output = BluetoothUUID(0xFF01)
        let strap = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00), characteristics: [CharacteristicDefinition(output, .notify)])
                ]))
        let backend = backend(world)
        let (stalls, stall) = AsyncStream.makeStream(of: Duration.self)
        let sent = SharedValue(false)
        let received = try await withCentral(backend: backend, configuration: .quiet()) { central in
            for try await _ in central.discoveries() { break }
            let values = try await central.peripheral(strap.id).notifications(
                Characteristic<[UInt8]>(output), overflow: .fail(capacity: 256))
            backend.stack.loop.onStall(longerThan: .zero) { stall.yield($0) }
            let sending = Task {
                for number in UInt8(0)..<200 { await strap.notify([number], from: output) }
                sent.change { $0 = true }
            }
            // Without an await: the thread does nothing else until all have been sent.
            while !sent.value {}
            await sending.value
            var received: [UInt8] = []
            for try await value in values {
                received += value
                if received.count == 200 { break }
            }
            return received
        }
        #expect(received == Array(0..<200))
        for await time in stalls {
            #expect(time > .zero)
            break
        }
        await world.daemon.kill()
    }
}
