#if Gateway
    import BLE
    import BLESimulation
    import BLETestSupport
    import BlueZTestSupport
    import Foundation
    import Testing

    @testable import BLECommand

    private let size = (ProcessInfo.processInfo.environment["BLE_FLEET"] ?? "").split(separator: "x").compactMap {
        Int($0)
    }

    /// Gateways on a street, with Debian's mosquitto in real time. By hand, because it needs an idle machine:
    /// `BLE_FLEET=50x2000x120` for 50 gateways, 2,000 devices and 120 s. It prints what was counted.
    @Suite(.startsProcesses, .enabled(if: size.count == 3))
    struct FleetBrokerTests {
        @Test func `devices walk past gateways on a real broker`() async throws {
            let (count, deviceCount, seconds) = (size[0], size[1], size[2])
            let broker = try TestBroker(port: try TestBroker.freePort())
            let street = Street(gateways: count)
            var random = SeededGenerator(seed: 1)
            var devices = (0..<deviceCount).map { Walker($0, on: street, &random) }
            try await broker.run { mosquitto in
                let gateways = try (0..<count).map { number in
                    var configuration = GatewayConfiguration(id: Street.name(number))
                    configuration.broker.host = "127.0.0.1"
                    configuration.broker.port = broker.port
                    configuration.isFleet = true
                    configuration.devices = devices.map(\.entry)
                    return Gateway(
                        configuration,
                        broker: try MQTTBroker(configuration, logger: CommonOptions.logger(verbose: 0)) { _ in },
                        clock: ContinuousClock()
                    ) { _ in }
                }
                let runs = gateways.map { gateway in
                    Task {
                        try await gateway.run { () -> Central in
                            try await ContinuousClock().sleep(for: .seconds(86_400))
                            throw CancellationError()
                        }
                    }
                }
                var (gaps, duplicates, handovers, heard) = (0, 0, 0, 0)
                let start = ContinuousClock.now
                for second in 1...seconds {
                    for device in devices.indices {
                        devices[device].walk(street)
                        var isHeard = false
                        for index in gateways.indices {
                            guard let strength = street.strength(of: devices[device], at: index, &random) else {
                                continue
                            }
                            isHeard = true
                            heard += 1
                            gateways[index].hear(devices[device].id, Advertisement(rssi: strength))
                        }
                        let id = GatewayTopics.device(devices[device].id)
                        let owners = gateways.indices.filter { gateways[$0].publishes(id) }.map(Street.name)
                        // The first claims need 6 s.
                        if second > 10 {
                            if owners.isEmpty, isHeard { gaps += 1 }
                            if owners.count > 1 { duplicates += 1 }
                        }
                        if let owner = owners.first, owner != devices[device].owner {
                            if devices[device].owner != nil { handovers += 1 }
                            devices[device].owner = owner
                        }
                    }
                    try await ContinuousClock().sleep(until: start + .seconds(second))
                }
                let took = ContinuousClock.now - start
                // While a claim is on its way, one gateway may know of it before another.
                #expect((gaps + duplicates) * 100 < deviceCount * seconds)
                print("\(count) gateways, \(deviceCount) devices, \(took): \(heard) advertisements,")
                print("\(handovers) handovers, device seconds without an owner \(gaps), with several \(duplicates)")
                for topic in ["$SYS/broker/messages/received", "$SYS/broker/messages/sent"] {
                    print(try await broker.read([topic], count: 1, format: "%t %p"))
                }
                for run in runs { run.cancel() }
                for run in runs { _ = await run.result }
            }
        }
    }
#endif
