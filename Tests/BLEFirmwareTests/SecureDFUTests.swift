import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

@Suite(.hangLimit, .tracesFailures) struct SecureDFUTests {
    static let initPacket = Array(FirmwareImage.random(100).bytes.prefix(137))
    static let firmware = FirmwareImage.random(20_000).bytes
    static let packet = BluetoothUUID("8EC90002-F315-4F60-9FB8-838830DAEA50")!
    static let point = Characteristic<[UInt8]>(BluetoothUUID("8EC90001-F315-4F60-9FB8-838830DAEA50")!)

    private struct Setting {
        let world: SimulatedWorld
        let peripheral: Peripheral
        let device: SimulatedPeripheral
        let received: SharedValue<[[UInt8]]>
        let packets: SharedValue<[Int]>
        var dfu: SecureDFU { SecureDFU(peripheral) }
    }

    private func setting(mtu: Int = 247, size: Int = firmware.count) async throws -> Setting {
        let received = SharedValue<[[UInt8]]>([])
        let packets = SharedValue<[Int]>([])
        let target = SecureDFUPeripheral { initPacket in
            guard initPacket == Self.initPacket else { throw BLEError(.failed, "the signature is wrong") }
            return size
        } onFirmware: { _, firmware in
            received.change { $0.append(firmware) }
        }
        var definition = target.definition(name: "DfuTarg")
        definition.maximumATTMTU = mtu
        let onWrite = definition.services[0].characteristics[1].onWrite
        definition.services[0].characteristics[1].onWrite = { (value, request) throws(ATTError) in
            packets.change { $0.append(value.count) }
            try await onWrite?(value, request)
        }
        let world = try await SimulatedWorld()
        let (peripheral, device) = try await world.add(definition)
        return Setting(world: world, peripheral: peripheral, device: device, received: received, packets: packets)
    }

    @Test(arguments: [23, 100, 247, 517]) func `firmware arrives whole`(_ mtu: Int) async throws {
        let setting = try await setting(mtu: mtu)
        let progress = SharedValue<[Int]>([])
        for try await step in setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware) {
            progress.change { $0.append(step.sentBytes) }
        }
        #expect(setting.received.value == [Self.firmware])
        #expect(progress.value.last == Self.firmware.count)
        #expect(progress.value == progress.value.sorted())
        #expect(setting.packets.value.max() == min(mtu - 3, 512) / 4 * 4)
        #expect(setting.packets.value.reduce(0, +) == Self.initPacket.count + Self.firmware.count)
    }

    @Test func `a transfer goes on after lost links, and little is sent again`() async throws {
        let setting = try await setting()
        for _ in 0..<4 {
            await setting.device.dropLink(after: .write, .nth(25))
            await expectError(.disconnected) {
                try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
            }
            await setting.device.removeFaults()
        }
        try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        #expect(setting.received.value == [Self.firmware])
        #expect(setting.packets.value.reduce(0, +) == Self.initPacket.count + Self.firmware.count)
    }

    @Test func `after a cancellation, the transfer goes on`() async throws {
        let setting = try await setting()
        for try await step in setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware)
        where step.sentBytes > 6_000 { break }
        try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        #expect(setting.received.value == [Self.firmware])
    }

    @Test func `other firmware begins anew`() async throws {
        let setting = try await setting()
        for try await step in setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware)
        where step.sentBytes > 6_000 { break }
        let other = Array(Self.firmware.reversed())
        try await setting.dfu.upload(initPacket: Self.initPacket, firmware: other).finish()
        #expect(setting.received.value == [other])
    }

    @Test func `an init packet that is not valid is refused`() async throws {
        let setting = try await setting()
        let error = await expectError(.procedureFailed) {
            try await setting.dfu.upload(initPacket: [1, 2, 3], firmware: Self.firmware).finish()
        }
        #expect(error?.result(DFUResult.self) == .invalidObject)
        await expectError(.invalidLength) {
            try await setting.dfu.upload(initPacket: Array(repeating: 1, count: 513), firmware: [1]).finish()
        }
        await expectError(.invalidArgument) { try await setting.dfu.upload(initPacket: [], firmware: [1]).finish() }
    }

    @Test func `more firmware than the init packet describes is refused`() async throws {
        let setting = try await setting(size: 5_000)
        let error = await expectError(.procedureFailed) {
            try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        }
        #expect(error?.result(DFUResult.self) == .insufficientResources)
        #expect(setting.received.value.isEmpty)
    }

    @Test func `a device that receives something else each time ends the transfer`() async throws {
        let setting = try await setting()
        await setting.device.ignore(.write(of: Characteristic<[UInt8]>(Self.packet)), .always)
        await expectError(.uploadFailed) {
            try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        }
    }

    @Test func `a packet that is lost is noticed, and its object is sent again`() async throws {
        let setting = try await setting()
        await setting.device.ignore(.write(of: Characteristic<[UInt8]>(Self.packet)), .nth(10))
        try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        #expect(setting.received.value == [Self.firmware])
    }

    /// The requests, their responses and the receipts, with the bytes of the nRF5 SDK's documentation.
    @Test func `the control point answers as the bootloader does`() async throws {
        let setting = try await setting()
        let answers = SharedValue<[String]>([])
        let stream = try await setting.peripheral.notifications(Self.point)
        let reading = Task { for try await value in stream { answers.change { $0.append(Hex.string(value)) } } }
        let packet = Characteristic<[UInt8]>(Self.packet)
        func ask(_ hex: String) async throws {
            try await setting.peripheral.write(Hex.bytes(hex)!, to: Self.point)
        }
        for hex in ["0601", "0603", "06", "99", "04", "0201", "020200", "010203000000", "010101020000", "010100000000"]
        {
            try await ask(hex)
        }
        try await ask("010105000000")
        try await setting.peripheral.write(Array("123".utf8), to: packet, type: .withoutResponse)
        try await setting.peripheral.write(Array("45678".utf8), to: packet, type: .withoutResponse)
        for hex in ["03", "04"] { try await ask(hex) }
        try await answers.until { $0.count >= 14 }
        reading.cancel()
        // zlib.crc32(b"12345") is 0xCBF53A1C.
        #expect(
            answers.value == [
                "600601000200000000000000000000", "600607", "600603", "609902", "600408", "600203", "600201", "600108",
                "600104", "600103", "600101", "600301050000001c3af5cb", "600301050000001c3af5cb", "600405",
            ])
    }

    @Test func `a request without a subscription is refused`() async throws {
        let setting = try await setting()
        let error = await expectError(.attributeError) { try await setting.peripheral.write([6, 1], to: Self.point) }
        #expect(error?.attError == .improperlyConfigured)
    }

    @Test func `random requests and packets do not stop the device`() async throws {
        let setting = try await setting()
        let stream = try await setting.peripheral.notifications(Self.point, overflow: .dropOldest(capacity: 1))
        var random = SeededGenerator(seed: 9)
        for _ in 0..<500 {
            let bytes: [UInt8] = (0..<Int.random(in: 1...8, using: &random)).map { index in
                .random(in: 0...(index == 0 ? 8 : 255), using: &random)
            }
            try await setting.peripheral.write(bytes, to: Self.point)
            try await setting.peripheral.write(bytes, to: Characteristic(Self.packet), type: .withoutResponse)
        }
        await stream.end()
        try await setting.dfu.upload(initPacket: Self.initPacket, firmware: Self.firmware).finish()
        #expect(setting.received.value == [Self.firmware])
    }

    @Test func `a handler that takes its time is waited for, and other requests are refused meanwhile`() async throws {
        let (began, isOver) = (SharedValue(false), SharedValue(false))
        let target = SecureDFUPeripheral { _ in
            began.change { $0 = true }
            try await isOver.until { $0 }
            return 10
        } onFirmware: { _, _ in
        }
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(target.definition(name: "DfuTarg"))
        let task = Task { try await SecureDFU(peripheral).upload(initPacket: [1], firmware: [1]).finish() }
        try await began.until { $0 }
        let error = await expectError(.attributeError) { try await peripheral.write([0x06, 0x01], to: Self.point) }
        #expect(error?.attError == .procedureInProgress)
        isOver.change { $0 = true }
        // The firmware is shorter than the init packet says: the device waits for more.
        try await task.value
    }

    @Test func `an application starts its bootloader`() async throws {
        let events = SharedValue<[String]>([])
        let service = ButtonlessDFU.service { name in
            events.change { $0.append(name) }
        } onEnter: {
            events.change { $0.append("enter") }
        }
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "App", rssi: -50, serviceUUIDs: [.secureDFU]),
                services: [service]))
        let dfu = ButtonlessDFU(peripheral)
        try await dfu.setName("Lamp")
        await expectError(.invalidArgument) { try await dfu.setName("") }
        await expectError(.invalidArgument) { try await dfu.setName(String(repeating: "x", count: 21)) }
        try await dfu.enterBootloader()
        await until { events.value.count == 2 }
        #expect(events.value == ["Lamp", "enter"])
    }
}
