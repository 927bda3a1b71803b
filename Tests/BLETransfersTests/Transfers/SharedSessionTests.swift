import BLE
import BLESimulation
import BLETesting
import Testing

@testable import BLETransfers

/// The sessions of a system that does not distinguish subscribers.
@Suite(.hangLimit, .tracesFailures) struct SharedSessionTests {
    private let clock = ManualClock()
    private let first: DeviceID = "C0:00:00:00:00:01"
    private let second: DeviceID = "C0:00:00:00:00:02"

    @Test func `the next central's packets do not have the length of the former one's`() throws {
        let sessions = TransferSessions(window: 1000)
        let session = sessions.open(nil)
        try sessions.take([5, 0, 0], AttributeRequest(central: first, attMTU: 247, clock: clock))
        #expect(sessions.packetLength(session) == 244)
        sessions.release(first)
        try sessions.take([5, 0, 0], AttributeRequest(central: second, clock: clock))
        #expect(sessions.packetLength(session) == 20)
    }

    @Test func `two hosts have subscribers of their own`() async throws {
        let receiver = TransferPeripheral(MemoryTransferStorage())
        let services = [receiver.service(), receiver.service()]
        let answers = SharedValue<[Int]>([])
        let serving = services.enumerated().map { number, service in
            let notifier = Notifier(clock: clock, central: nil) { _ in answers.change { $0.append(number) } }
            return Task { try await service.characteristics[1].onSubscribe?(notifier) }
        }
        for service in services {
            // A question about a transfer that is not known.
            let question = TransferPacket(1, .status).bytes
            await until {
                (try? await service.characteristics[0].onWrite?(
                    question, AttributeRequest(central: first, clock: clock))) != nil
            }
        }
        try await answers.until { $0.count == 2 }
        #expect(answers.value.sorted() == [0, 1])
        for task in serving {
            task.cancel()
            _ = await task.result
        }
    }

    @Test func `notifications that are not taken end the transfers of the subscription`() async throws {
        let receiver = TransferPeripheral(MemoryTransferStorage())
        let characteristics = receiver.service().characteristics
        let notifier = Notifier(clock: clock, central: first) { _ in await untilCancelled() }
        let serving = Task { try await characteristics[1].onSubscribe?(notifier) }
        let opening = TransferOpening.begin(TransferFile(name: "a", bytes: [1]), isNew: false)
        let packet = opening.packets(1, length: 100)[0].bytes
        await until {
            (try? await characteristics[0].onWrite?(packet, AttributeRequest(central: first, clock: clock))) != nil
        }
        await clock.sleepers(1, for: .seconds(10))
        clock.advance(by: .seconds(10))
        await expectError(.timedOut) { try await serving.value }
    }

    @Test func `a central that takes no notifications leaves the shared subscription to the next one`() async throws {
        let receiver = TransferPeripheral(MemoryTransferStorage())
        let characteristics = receiver.service().characteristics
        let answers = SharedValue<[[UInt8]]>([])
        let notifier = Notifier(clock: clock, central: nil) { packet in
            if (try? TransferPacket(decoding: packet))?.token == 1 { await untilCancelled() }
            answers.change { $0.append(packet) }
        }
        let serving = Task { try await characteristics[1].onSubscribe?(notifier) }
        let opening = TransferOpening.begin(TransferFile(name: "a", bytes: [1]), isNew: false)
        let packet = opening.packets(1, length: 100)[0].bytes
        await until {
            (try? await characteristics[0].onWrite?(packet, AttributeRequest(central: first, clock: clock))) != nil
        }
        await clock.sleepers(1, for: .seconds(10))
        clock.advance(by: .seconds(10))
        let other = TransferOpening.begin(TransferFile(name: "b", bytes: [1]), isNew: false)
        await until {
            (try? await characteristics[0].onWrite?(
                other.packets(2, length: 100)[0].bytes, AttributeRequest(central: second, clock: clock))) != nil
        }
        try await answers.until { $0.contains { (try? TransferPacket(decoding: $0))?.token == 2 } }
        serving.cancel()
        _ = await serving.result
    }
}
