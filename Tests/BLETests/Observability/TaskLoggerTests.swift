import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct TaskLoggerTests {
    @Test func `a central and a host log to the logger of the task, unless they are given one`() {
        withLogger(Logger(label: "gateway")) { _ in
            #expect(Central.Configuration().logger.label == "gateway")
            #expect(PeripheralHost.Configuration().logger.label == "gateway")
            #expect(Central.Configuration(logger: Logger(label: "own")).logger.label == "own")
            #expect(PeripheralHost.Configuration(logger: Logger(label: "own")).logger.label == "own")
        }
    }

    @Test func `without a logger of the task, the label is ble`() async {
        await Task.detached {
            #expect(Central.Configuration().logger.label == "ble")
            #expect(PeripheralHost.Configuration().logger.label == "ble")
        }.value
    }

    @Test func `traced operations have what the caller's task adds to its messages`() async throws {
        let (log, radio) = (LogRecords(), SimulatedRadio())
        let grip = await radio.add(.battery(level: 41))
        let central = try await Central(
            backend: .simulated(radio), configuration: Central.Configuration(logger: log.logger()))
        let peripheral = try await central.find(grip.id)
        try await withLogger(mergingMetadata: ["request": "17"]) { _ in
            _ = try await peripheral.read(Characteristic<UInt8>.batteryLevel)
        }
        _ = try await peripheral.read(Characteristic<UInt8>.batteryLevel)
        await central.shutDown()
        #expect(log.metadata(of: "reading: done").map { $0["request"] } == ["17", nil])
    }
}
