import BLE
import BLETestSupport
import Testing

@testable import BLESimulation

@Suite(.hangLimit) struct RadioExecutorTests {
    @Test func `code on the executor is recognized, on any thread`() async {
        let executor = RadioExecutor()
        let tasks = RadioTaskExecutor(executor)
        let strays = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var strays = 0
                    for _ in 0..<5000 {
                        let isCurrent = await withTaskExecutorPreference(tasks) { executor.isCurrent }
                        if !isCurrent { strays += 1 }
                    }
                    return strays
                }
            }
            return await group.reduce(0, +)
        }
        #expect(strays == 0)
        #expect(!executor.isCurrent)
    }

    @Test func `a handler that notifies without an end is ended by the end of its link`() async throws {
        let (input, output) = (BluetoothUUID(0xFF01), BluetoothUUID(0xFF02))
        let radio = SimulatedRadio()
        let grip = SharedValue<SimulatedPeripheral?>(nil)
        let started = SharedValue(false)
        let device = await radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                input, .write,
                                onWrite: { _, _ in
                                    started.change { $0 = true }
                                    while !Task.isCancelled { await grip.value?.notify([1], from: output) }
                                }),
                            CharacteristicDefinition(output, .notify),
                        ])
                ]))
        grip.change { $0 = device }
        try await withCentral(backend: .simulated(radio)) { central in
            for try await _ in central.discoveries() { break }
            let peripheral = central.peripheral(device.id)
            try await peripheral.connect()
            let write = Task { try await peripheral.write([1], to: Characteristic<[UInt8]>(input)) }
            await until { started.value }
            try await peripheral.disconnect()
            await expectError(.disconnected) { try await write.value }
        }
    }
}
