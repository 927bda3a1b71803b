import BLE
import BLESimulation
import BLETestSupport
import FoundationEssentials
import Testing

/// The worked example of Docs/WritingAProfile.md.
@Suite(.hangLimit) struct WritingAProfileTests {
    @Test func `the page shows what is tested here`() throws {
        let code = try ["Fan.swift", "FanTests.swift"].map {
            try Checkout.text("Tests/BLEProfilesTests/OwnProfile/\($0)")
        }
        .joined()
        let page = try Checkout.text("Docs/WritingAProfile.md")
        let blocks = page.components(separatedBy: "```").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        #expect(blocks.count == 4)
        // The third block is a statement without its surroundings.
        for block in [blocks[0], blocks[1], blocks[3]] {
            #expect(block.hasPrefix("swift\n"))
            #expect(code.contains(block.dropFirst(6)))
        }
    }

    @Test(
        arguments: [
            ([0, 40], FanState(speedPercent: 40)),
            ([1, 100, 0x59, 0x08], FanState(speedPercent: 100, temperatureCelsius: 21.37)),
            ([1, 0, 0xFF, 0xFF], FanState(speedPercent: 0, temperatureCelsius: -0.01)),
        ] as [([UInt8], FanState)])
    func `a state is read and written`(_ bytes: [UInt8], _ state: FanState) async throws {
        #expect(try FanState(bytes: bytes) == state)
        #expect(try state.encoded() == bytes)
        #expect(try FanState(bytes: bytes + [7]) == state)
        for count in 0..<bytes.count {
            await expectError(.invalidValue) { try FanState(bytes: Array(bytes.prefix(count))) }
        }
    }

    @Test func `no fan runs faster than it can`() async {
        await expectError(.invalidValue) { try FanState(bytes: [0, 101]) }
    }

    /// A fan that is too hot for more than half its speed.
    private func fan() async throws -> Fan {
        let world = try await SimulatedWorld()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Fan", rssi: -50, serviceUUIDs: [.fan]),
            services: [
                ServiceDefinition(
                    .fan,
                    characteristics: [
                        try CharacteristicDefinition(
                            .fanState, [.read, .notify], value: FanState(speedPercent: 40, temperatureCelsius: 80)),
                        .controlPoint(BluetoothUUID(0xFF02)) { request in
                            [0x80, request[0], request[1] <= 50 ? 1 : 2]
                        },
                    ])
            ])
        let (peripheral, _) = try await world.add(definition)
        return Fan(peripheral)
    }

    @Test func `the state is read`() async throws {
        #expect(try await fan().state() == FanState(speedPercent: 40, temperatureCelsius: 80))
    }

    @Test func `the control point does it, or says why not`() async throws {
        let fan = try await fan()
        try await fan.setSpeed(percent: 50)
        let error = await expectError(.procedureFailed) { try await fan.setSpeed(percent: 51) }
        #expect(error?.result(FanResult.self) == .tooHot)
        #expect(error?.message.contains("too hot to run faster") == true)
        #expect(error?.peripheral == fan.peripheral.id)
        await expectError(.invalidArgument) { try await fan.setSpeed(percent: 101) }
    }

    @Test func `each service of the type has its own`() async throws {
        let world = try await SimulatedWorld()
        let services = try [10, 20].map { speed in
            ServiceDefinition(
                .fan,
                characteristics: [
                    try CharacteristicDefinition(.fanState, .read, value: FanState(speedPercent: speed))
                ])
        }
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: services))
        let fans = try await Fan.all(on: peripheral)
        var speeds: [Int] = []
        for fan in fans { speeds.append(try await fan.state().speedPercent) }
        #expect(speeds == [10, 20])
        #expect(try await Fan(peripheral).state().speedPercent == 10)
    }
}
