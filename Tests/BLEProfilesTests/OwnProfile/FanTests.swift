// The test of Docs/WritingAProfile.md, word for word (WritingAProfileTests looks whether it is).

import BLE
import BLESimulation
import Testing

/// A fan that is too hot for more than half its speed.
private func fan() async throws -> Fan {
    let clock = ManualClock()
    let radio = SimulatedRadio(clock: clock)
    let state = FanState(speedPercent: 40, temperatureCelsius: 80)
    let simulated = await radio.add(
        PeripheralDefinition(
            advertisement: Advertisement(localName: "Fan", rssi: -50, serviceUUIDs: [.fan]),
            services: [
                ServiceDefinition(
                    .fan,
                    characteristics: [
                        try CharacteristicDefinition(.fanState, [.read, .notify], value: state),
                        .controlPoint(BluetoothUUID(0xFF02)) { request in
                            [0x80, request[0], request[1] <= 50 ? 1 : 2]
                        },
                    ])
            ]))
    let central = try await Central(backend: .simulated(radio), configuration: .init(clock: clock))
    for try await found in central.discoveries(matching: .service(.fan)) { return Fan(found.peripheral) }
    throw BLEError(.peripheralNotFound, "\(simulated.id) was not heard")
}

@Test func `the state is read`() async throws {
    #expect(try await fan().state().speedPercent == 40)
}

@Test func `the control point does it, or says why not`() async throws {
    let fan = try await fan()
    try await fan.setSpeed(percent: 50)
    do {
        try await fan.setSpeed(percent: 51)
        Issue.record("it ran too fast")
    } catch {
        #expect(error.result(FanResult.self) == .tooHot)
    }
}
