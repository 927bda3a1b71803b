import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// A bootloader with two centrals, which write to its handlers.
@Suite(.hangLimit) struct SecureDFUCentralsTests {
    private let clock = ManualClock()
    private let one = DeviceID(rawValue: "C0:00:00:00:00:01")
    private let two = DeviceID(rawValue: "C0:00:00:00:00:02")
    private let answers = SharedValue<[String]>([])

    /// Writes a request to the control point, and returns the answer.
    private func ask(_ hex: String, _ central: DeviceID, _ service: ServiceDefinition) async throws -> String? {
        let count = answers.value.count
        try await write(hex, central, service)
        try await answers.until { $0.count > count }
        return answers.value.last
    }

    private func write(_ hex: String, _ central: DeviceID, _ service: ServiceDefinition) async throws(ATTError) {
        let request = AttributeRequest(central: central, attMTU: 247, clock: clock)
        try await service.characteristics[0].onWrite!(Hex.bytes(hex)!, request)
    }

    private func packet(_ bytes: [UInt8], _ central: DeviceID, _ service: ServiceDefinition) async throws(ATTError) {
        let request = AttributeRequest(central: central, attMTU: 247, clock: clock)
        try await service.characteristics[1].onWrite!(bytes, request)
    }

    /// Serves a bootloader to both centrals while `body` runs.
    private func withCentrals(
        _ bootloader: SecureDFUPeripheral, _ body: (ServiceDefinition) async throws -> Void
    ) async throws {
        let service = bootloader.service
        let subscriptions = [one, two].map { central in
            let notifier = Notifier(clock: clock, central: central) { [answers] value in
                answers.change { $0.append(Hex.string(value)) }
            }
            return Task { try await service.characteristics[0].onSubscribe!(notifier) }
        }
        for central in [one, two] {
            await until { (try? await write("99", central, service)) != nil }
            await service.onDisconnect?(central)
        }
        try await answers.until { $0.count == 2 }
        try await body(service)
        for subscription in subscriptions {
            subscription.cancel()
            _ = await subscription.result
        }
    }

    @Test func `one central at a time uses the bootloader, until its link ends or it is silent`() async throws {
        try await withCentrals(
            SecureDFUPeripheral { _ in
                10
            } onFirmware: { _, _ in
            }
        ) { service in
            #expect(try await ask("010103000000", one, service) == "600101")
            try await packet([1, 2], one, service)
            clock.advance(by: .seconds(29))
            await #expect(throws: ATTError.insufficientResources) { try await write("0601", two, service) }
            await #expect(throws: ATTError.insufficientResources) { try await packet([3], two, service) }
            // Each request and each packet ends the silence.
            try await packet([], one, service)
            clock.advance(by: .seconds(29))
            await #expect(throws: ATTError.insufficientResources) { try await write("0601", two, service) }
            clock.advance(by: .seconds(2))
            // What has arrived is kept.
            #expect(try await ask("03", two, service)?.hasPrefix("60030102000000") == true)
            await #expect(throws: ATTError.insufficientResources) { try await write("03", one, service) }
            await service.onDisconnect?(two)
            #expect(try await ask("03", one, service)?.hasPrefix("60030102000000") == true)
        }
    }

    @Test(arguments: [true, false])
    func `a handler that hangs does not keep the bootloader for ever`(_ isFirmware: Bool) async throws {
        let (began, isOver) = (SharedValue(0), SharedValue(false))
        @Sendable func hang() async throws {
            guard began.next() == 1 else { return }
            try await isOver.until { $0 }
        }
        let bootloader = SecureDFUPeripheral { _ in
            if !isFirmware { try await hang() }
            return 4
        } onFirmware: { _, _ in
            if isFirmware { try await hang() }
        }
        try await withCentrals(bootloader) { service in
            func send(_ central: DeviceID, hangs: Bool) async throws {
                #expect(try await ask("010101000000", central, service) == "600101")
                try await packet([1], central, service)
                if hangs, !isFirmware { return try await write("04", central, service) }
                #expect(try await ask("04", central, service) == "600401")
                #expect(try await ask("010204000000", central, service) == "600101")
                try await packet([1, 2, 3, 4], central, service)
                if hangs { return try await write("04", central, service) }
                #expect(try await ask("04", central, service) == "600401")
            }
            try await send(one, hangs: true)
            try await began.until { $0 == 1 }
            await #expect(throws: ATTError.procedureInProgress) { try await write("0601", one, service) }
            await #expect(throws: ATTError.insufficientResources) { try await write("0601", two, service) }
            clock.advance(by: .seconds(119))
            await service.onDisconnect?(one)
            await #expect(throws: ATTError.procedureInProgress) { try await write("0601", two, service) }
            clock.advance(by: .seconds(2))
            try await send(two, hangs: false)
            // What returns late is not answered, and changes nothing.
            let count = answers.value.count
            #expect(try await ask("010101000000", two, service) == "600101")
            isOver.change { $0 = true }
            #expect(try await ask("0601", two, service) == "60060100020000" + "0000000000000000")
            #expect(answers.value.count == count + 2)
        }
    }

    @Test func `firmware of which the device has executed the same first object, or another one, arrives whole`()
        async throws
    {
        let initPacket: [UInt8] = [1, 2, 3]
        let image = Array(FirmwareImage.random(20_000).bytes.prefix(12_000))
        let received = SharedValue<[[UInt8]]>([])
        let bootloader = SecureDFUPeripheral { _ in
            image.count
        } onFirmware: { _, firmware in
            received.change { $0.append(firmware) }
        }
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(bootloader.definition(name: "DfuTarg"))
        let point = SecureDFUTests.point
        let packets = Characteristic<[UInt8]>(SecureDFUTests.packet)
        let executed = SharedValue(0)
        let stream = try await peripheral.notifications(point)
        let reading = Task {
            for try await value in stream { executed.change { $0 += value.starts(with: [0x60]) ? 1 : 0 } }
        }
        /// Has the device receive objects of another image, and execute all but the last one.
        func begin(_ other: [UInt8], objects: Int, executesLast: Bool) async throws {
            func ask(_ bytes: [UInt8]) async throws {
                let count = executed.value
                try await peripheral.write(bytes, to: point)
                try await executed.until { $0 > count }
            }
            try await ask([1, 1, 3, 0, 0, 0])
            try await peripheral.write(initPacket, to: packets, type: .withoutResponse)
            try await ask([4])
            for object in 0..<objects {
                try await ask([1, 2, 0, 0x10, 0, 0])
                for start in stride(from: object * 4096, to: (object + 1) * 4096, by: 128) {
                    try await peripheral.write(
                        Array(other[start..<start + 128]), to: packets, type: .withoutResponse)
                }
                if executesLast || object < objects - 1 { try await ask([4]) }
            }
        }
        var (second, first) = (image, image)
        second[5000] ^= 1
        first[5] ^= 1
        for other in [first, second] {
            for (objects, executesLast) in [(1, true), (1, false), (2, true), (2, false)] {
                received.change { $0 = [] }
                try await begin(other, objects: objects, executesLast: executesLast)
                try await SecureDFU(peripheral).upload(initPacket: initPacket, firmware: image).finish()
                #expect(received.value == [image])
            }
        }
        reading.cancel()
    }
}
