import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

/// The device's side, with the client of this module and with frames of others.
@Suite(.hangLimit, .tracesFailures) struct DeviceTests {
    static let primary = FirmwareImage.random(500, version: FirmwareVersion(1, 2, 3))

    /// A device with a shell, a clock and a file, and its client.
    private func device(
        _ storage: MemoryFirmwareStorage = MemoryFirmwareStorage(.init(primary: primary, files: ["/a": [1, 2, 3]])),
        isAllowed: @escaping @Sendable (DeviceID, SMPCommand) async -> Bool = { _, _ in true }
    ) async throws -> (client: FirmwareClient, resets: SharedValue<[Bool]>) {
        let resets = SharedValue<[Bool]>([])
        let time = SharedValue("2026-11-27T06:56:24")
        let device = FirmwarePeripheral(
            storage, applicationInfo: "Zephyr",
            dateTime: .init(read: { time.value }, write: { text in time.change { $0 = text } }), isAllowed: isAllowed,
            onExecute: { arguments in
                switch arguments[0] {
                case "long": .init(output: String(repeating: "é", count: 5000))
                case "kernel": .init(output: "Uptime: 5 ms", returnCode: -22)
                default: throw SMPFailure(.busy)
                }
            }, onReset: { isForced in resets.change { $0.append(isForced) } })
        let world = try await SimulatedWorld()
        let (peripheral, _) = try await world.add(device.definition(name: "Device"))
        return (FirmwareClient(peripheral), resets)
    }

    @Test func `all commands are answered`() async throws {
        let (client, resets) = try await device()
        #expect(try await client.echo("hällo") == "hällo")
        #expect(try await client.parameters() == ManagementParameters(bufferSize: 1024, bufferCount: 4))
        #expect(try await client.bootloader() == "MCUboot")
        #expect(try await client.bootloaderMode() == .swapWithoutScratch)
        #expect(try await client.applicationInfo() == "Zephyr")
        #expect(try await client.dateTime() == "2026-11-27T06:56:24")
        try await client.setDateTime("2027-01-01T00:00:00")
        #expect(try await client.dateTime() == "2027-01-01T00:00:00")
        let slots = [
            ImageSlot(slot: 0, version: "1.2.3", hash: Self.primary.hash, isConfirmed: true, isActive: true)
        ]
        #expect(try await client.imageSlots() == slots)
        #expect(
            try await client.slotSizes() == [
                ImageSlotSize(slot: 0, bytes: 1 << 20), ImageSlotSize(slot: 1, bytes: 1 << 20, uploadImage: 0),
            ])
        let result = try await client.execute(["kernel", "uptime"])
        #expect(result == .init(output: "Uptime: 5 ms", returnCode: -22))
        try await client.reset()
        try await client.reset(isForced: true)
        await until { resets.value.count == 2 }
        #expect(resets.value == [false, true])
    }

    @Test func `refusals have the codes of the specification`() async throws {
        let (client, _) = try await device()
        let cases: [(SMPFailure, () async throws -> Void)] = [
            (SMPFailure(.notSupported), { _ = try await client.request(.read, SMPCommand(SMPGroup(rawValue: 64), 0)) }),
            (SMPFailure(.notSupported), { _ = try await client.request(.read, SMPCommand(.os, 2)) }),
            (SMPFailure(.invalidValue), { _ = try await client.request(.write, SMPCommand(.os, 0), ["d": 1]) }),
            (
                SMPFailure(.invalidValue),
                { _ = try await client.request(.read, SMPCommand(.file, 0), ["name": "/a", "off": -1]) }
            ),
            (SMPFailure(.busy), { _ = try await client.execute(["other"]) }),
            (SMPFailure(group: .shell, code: 3), { _ = try await client.execute([]) }),
            (
                SMPFailure(group: .os, code: 3),
                { _ = try await client.request(.read, SMPCommand(.os, 8), ["query": "x"]) }
            ),
            (SMPFailure(group: .image, code: 33), { _ = try await client.test(hash: Self.primary.hash) }),
            (SMPFailure(group: .image, code: 8), { _ = try await client.confirm(hash: [1, 2, 3]) }),
            (SMPFailure(group: .image, code: 14), { try await client.erase(slot: 0) }),
            (SMPFailure(group: .file, code: 3), { _ = try await client.fileLength("/b") }),
            (SMPFailure(group: .file, code: 3), { _ = try await client.download("/b") }),
            (
                SMPFailure(group: .file, code: 12),
                { _ = try await client.request(.read, SMPCommand(.file, 0), ["name": "/a", "off": 4]) }
            ),
            (
                SMPFailure(group: .file, code: 11),
                {
                    _ = try await client.request(
                        .write, SMPCommand(.file, 0), ["name": "/a", "off": 2, "data": .bytes([1])])
                }
            ),
            (
                SMPFailure(group: .image, code: 20),
                { _ = try await client.request(.write, SMPCommand(.image, 1), ["data": .bytes([])]) }
            ),
            (
                SMPFailure(group: .image, code: 21),
                { _ = try await client.request(.write, SMPCommand(.image, 1), ["data": .bytes([]), "off": 0]) }
            ),
        ]
        for (failure, body) in cases {
            let error = await expectError(.managementFailed) { try await body() }
            #expect(error?.managementFailure == failure)
        }
    }

    @Test func `who may use a command is decided for each`() async throws {
        let (client, _) = try await device(isAllowed: { _, command in command.group == .os })
        #expect(try await client.echo("a") == "a")
        let error = await expectError(.managementFailed) { try await client.imageSlots() }
        #expect(error?.managementFailure == SMPFailure(.accessDenied))
    }

    @Test func `output that does not fit is cut between characters`() async throws {
        let (client, _) = try await device()
        let output = try await client.execute(["long"]).output
        #expect(output.utf8.count > 700 && output.utf8.count < 1024)
        #expect(output.allSatisfy { $0 == "é" })
    }

    @Test func `output of characters of many code points is cut, too`() async throws {
        let storage = MemoryFirmwareStorage()
        let device = FirmwarePeripheral(storage, onExecute: { .init(output: $0.joined(separator: " ")) })
        let world = try await SimulatedWorld()
        let lamp = try await world.add(device.definition(name: "Lamp")).peripheral
        let character = "e" + String(repeating: "\u{301}", count: 495)
        let output = try await FirmwareClient(lamp).execute([character]).output
        #expect(output.unicodeScalars.starts(with: "e\u{301}".unicodeScalars))
        #expect((900..<1000).contains(output.utf8.count))
    }

    @Test func `a reset is carried out although its central ends the link at once`() async throws {
        let isReset = SharedValue(false)
        let gate = SharedValue(false)
        let storage = MemoryFirmwareStorage()
        let device = FirmwarePeripheral(
            storage,
            onReset: { _ in
                try await gate.until { $0 }
                try Task.checkCancellation()
                isReset.change { $0 = true }
            })
        let world = try await SimulatedWorld()
        let lamp = try await world.add(device.definition(name: "Lamp")).peripheral
        try await FirmwareClient(lamp).reset()
        try await lamp.disconnect()
        gate.change { $0 = true }
        try await isReset.until { $0 }
    }

    @Test func `files are uploaded, hashed, downloaded and replaced`() async throws {
        let (client, _) = try await device()
        for count in [0, 1, 23, 24, 255, 256, 5000] {
            let bytes = Array(FirmwareImage.random(5000).bytes.prefix(count))
            let progress = SharedValue<[Int]>([])
            for try await step in client.upload(bytes, toFile: "/lfs/b") {
                progress.change { $0.append(step.sentBytes) }
            }
            #expect(progress.value.last == count)
            #expect(try await client.fileLength("/lfs/b") == count)
            #expect(try await client.download("/lfs/b") == bytes)
        }
        // zlib.crc32(bytes([1, 2, 3])) and hashlib.sha256 in Python.
        #expect(try await client.fileHash("/a", .crc32) == .crc32(0x55BC_801D))
        let hash = "039058c6f2c0cb492c533b0a4d14ef77cc0f78abccced5287d84a1a2011cfb81"
        #expect(try await client.fileHash("/a") == .sha256(Hex.bytes(hash)!))
        #expect(try await client.fileHash("/a", .crc32, length: 0) == .crc32(0))
        // The default of Zephyr.
        let fields = try await client.request(.read, SMPCommand(.file, 2), ["name": "/a"])
        #expect(fields["type"] == "crc32" && fields["output"] == 0x55BC_801D)
    }

    @Test func `a file that is too large is refused`() async throws {
        let (client, _) = try await device(MemoryFirmwareStorage(fileCapacity: 1000))
        try await client.upload(Array(repeating: 1, count: 1000), toFile: "/b").finish()
        let error = await expectError(.managementFailed) {
            try await client.upload([1], toFile: "/c", continues: false).finish()
        }
        #expect(error?.managementFailure == SMPFailure(group: .file, code: 10))
    }

    @Test func `an update is tested, confirmed, and reverted if it is not`() async throws {
        let storage = MemoryFirmwareStorage(.init(primary: Self.primary))
        let (client, _) = try await device(storage)
        let update = FirmwareImage.random(3000)
        try await client.upload(update).finish()
        #expect(try await client.imageSlots()[1] == ImageSlot(slot: 1, version: "2.0.0", hash: update.hash))
        #expect(try await client.test(hash: update.hash)[1].isPending)
        let pending = await expectError(.managementFailed) { try await client.erase() }
        #expect(pending?.managementFailure == SMPFailure(group: .image, code: 28))
        let noSlot = await expectError(.managementFailed) { try await client.upload(.random(10)).finish() }
        #expect(noSlot?.managementFailure == SMPFailure(group: .image, code: 9))
        // Started once, not confirmed, and reverted.
        try await storage.reset()
        #expect(try await client.imageSlots().map(\.isConfirmed) == [false, true])
        #expect(try await client.imageSlots()[0].version == "2.0.0")
        try await storage.reset()
        #expect(try await client.imageSlots()[0].version == "1.2.3")
        // Started once, and confirmed.
        try await client.test(hash: update.hash)
        try await storage.reset()
        try await client.confirm()
        try await storage.reset()
        #expect(try await client.imageSlots()[0].version == "2.0.0")
        try await client.erase()
        #expect(try await client.imageSlots().count == 1)
    }

    @Test func `a permanent image stays, and contents are stored after each change`() async throws {
        let stored = SharedValue<[MemoryFirmwareStorage.Contents]>([])
        let storage = MemoryFirmwareStorage(
            .init(primary: Self.primary), onChange: { contents in stored.change { $0.append(contents) } })
        let (client, _) = try await device(storage)
        let update = FirmwareImage.random(3000)
        try await client.upload(update).finish()
        #expect(try await client.confirm(hash: update.hash)[1].isPermanent)
        try await storage.reset()
        try await storage.reset()
        #expect(await storage.contents.primary == update)
        #expect(await storage.contents.isConfirmed)
        #expect(stored.value.last == (await storage.contents))
        #expect(stored.value.count == 3)
    }

    @Test func `changes are stored one at a time, in their order, and one that fails is undone alone`() async throws {
        let (count, isOpen, running) = (SharedValue(0), SharedValue(false), SharedValue(0))
        let stored = SharedValue<[Set<String>]>([])
        let storage = MemoryFirmwareStorage(onChange: { contents in
            #expect(running.next() == 1)
            defer { running.change { $0 = 0 } }
            let isFirst = count.next() == 1
            try await isOpen.until { $0 }
            if isFirst { throw SMPFailure(.busy) }
            stored.change { $0.append(Set(contents.files.keys)) }
        })
        let first = Task { try await storage.writeFile("a", [1], at: 0, length: 1) }
        try await count.until { $0 == 1 }
        let others = ["b", "c"].map { name in
            Task { try await storage.writeFile(name, [1], at: 0, length: 1) }
        }
        isOpen.change { $0 = true }
        await #expect(throws: SMPFailure(.busy)) { try await first.value }
        for other in others { try await other.value }
        #expect(stored.value.map(\.count) == [1, 2] && stored.value.last == ["b", "c"])
        #expect(await Set(storage.contents.files.keys) == ["b", "c"])
    }

    @Test func `a change that cannot be stored is undone, and the session goes on`() async throws {
        let isFull = SharedValue(false)
        let storage = MemoryFirmwareStorage(
            .init(primary: Self.primary, secondary: .random(10)),
            onChange: { _ in if isFull.value { throw BLEError(.failed, "the disk is full") } })
        let (client, _) = try await device(storage)
        let before = await storage.contents
        let update = FirmwareImage.random(3000)
        isFull.change { $0 = true }
        let requests: [() async throws -> Void] = [
            { try await client.test(hash: FirmwareImage.random(10).hash) }, { try await client.erase() },
            { try await client.upload(update).finish() },
            { try await client.upload([1, 2], toFile: "/b").finish() },
        ]
        for request in requests {
            let error = await expectError(.managementFailed) { try await request() }
            #expect(error?.managementFailure == SMPFailure(.unknown))
            #expect(await storage.contents == before)
        }
        isFull.change { $0 = false }
        try await client.upload(update).finish()
        try await client.test(hash: update.hash)
        isFull.change { $0 = true }
        await #expect(throws: BLEError.self) { try await storage.reset() }
        #expect(try await client.imageSlots()[0].version == "1.2.3")
    }

    @Test func `images that are not valid, too large or older are refused`() async throws {
        let (client, _) = try await device(MemoryFirmwareStorage(.init(primary: Self.primary), slotSize: 10_000))
        let tooLarge = await expectError(.managementFailed) { try await client.upload(.random(20_000)).finish() }
        #expect(tooLarge?.managementFailure == SMPFailure(group: .image, code: 30))
        let old = await expectError(.managementFailed) {
            try await client.upload(.random(10, version: FirmwareVersion(1, 2, 3)), isUpgrade: true).finish()
        }
        #expect(old?.managementFailure == SMPFailure(group: .image, code: 27))
        try await client.upload(.random(10, version: FirmwareVersion(1, 2, 4)), isUpgrade: true).finish()
        let magic = await expectError(.managementFailed) {
            try await client.request(
                .write, SMPCommand(.image, 1),
                ["off": 0, "len": 100, "data": .bytes(Array(repeating: 1, count: 32))])
        }
        #expect(magic?.managementFailure == SMPFailure(group: .image, code: 23))
        let short = await expectError(.managementFailed) {
            try await client.request(
                .write, SMPCommand(.image, 1), ["off": 0, "len": 100, "data": .bytes([1, 2])])
        }
        #expect(short?.managementFailure == SMPFailure(group: .image, code: 22))
    }

    @Test func `an image that was damaged on the way is not stored`() async throws {
        let storage = MemoryFirmwareStorage(.init(primary: Self.primary))
        let (client, _) = try await device(storage)
        var bytes = FirmwareImage.random(100).bytes
        let upload = SMPCommand(.image, 1)
        // The hash of what was sent is wrong.
        let mismatch = try await client.request(
            .write, upload,
            [
                "off": 0, "len": CBOR(bytes.count), "sha": .bytes(Array(repeating: 0, count: 32)),
                "data": .bytes(bytes),
            ])
        #expect(mismatch["match"] == false)
        // The hash in the image is wrong.
        bytes[50] ^= 1
        let damaged = await expectError(.managementFailed) {
            try await client.request(
                .write, upload, ["off": 0, "len": CBOR(bytes.count), "data": .bytes(bytes)])
        }
        #expect(damaged?.managementFailure == SMPFailure(group: .image, code: 24))
        let more = await expectError(.managementFailed) {
            try await client.request(
                .write, upload, ["off": 0, "len": CBOR(bytes.count - 1), "data": .bytes(bytes)])
        }
        #expect(more?.managementFailure == SMPFailure(group: .image, code: 31))
        #expect(await storage.contents.secondary == nil)
        // Without a beginning, the device asks for it.
        let fields = try await client.request(
            .write, upload, ["off": 50, "data": .bytes([1, 2, 3])])
        #expect(fields["off"] == 0)
    }

    @Test func `responses are those of the Python package smp`() async throws {
        let (client, _) = try await device()
        let notified = SharedValue<[UInt8]>([])
        let stream = try await client.peripheral.notifications(Characteristic.smp)
        let reading = Task { for try await packet in stream { notified.change { $0 += packet } } }
        for name in ["echo", "parameters", "reset", "date and time", "bootloader", "application info", "execute"] {
            notified.change { $0 = [] }
            let request = Vectors.bytes(Vectors.requests, name)
            try await client.peripheral.write(request, to: .smp, type: .withoutResponse)
            let expected = Vectors.bytes(Vectors.responses, name)
            try await notified.until { $0.count >= expected.count }
            #expect(Hex.string(notified.value) == Hex.string(expected))
        }
        reading.cancel()
    }

    @Test func `requests of version 1 have errors of version 1, and malformed ones are answered`() async throws {
        let (client, _) = try await device()
        let frames = SharedValue<[SMPFrame]>([])
        let stream = try await client.peripheral.notifications(Characteristic.smp)
        let reading = Task {
            var reassembler = SMPReassembler(maximumLength: 1024)
            for try await packet in stream {
                for case .success(let frame) in reassembler.append(packet) { frames.change { $0.append(frame) } }
            }
        }
        let requests = [
            SMPFrame(.read, SMPCommand(.file, 1), sequence: 1, ["name": "/b"], version: .one).bytes,
            SMPFrame(.read, SMPCommand(.file, 1), sequence: 2, ["name": "/b"], version: .two).bytes,
            // The data is not CBOR, not a map, and too long.
            SMPHeader(.read, SMPCommand(.file, 1), sequence: 3, length: 1).bytes + [0xFF],
            SMPHeader(.read, SMPCommand(.file, 1), sequence: 4, length: 1).bytes + [0x01],
            SMPHeader(.read, SMPCommand(.file, 1), sequence: 5, length: 1020).bytes,
        ]
        for (index, request) in requests.enumerated() {
            try await client.peripheral.write(request, to: .smp, type: .withoutResponse)
            try await frames.until { $0.count > index }
        }
        #expect(
            frames.value.map(\.fields) == [
                ["rc": 5], ["err": ["rc": 3, "group": 8]], ["rc": 3], ["rc": 3], ["rc": 2],
            ])
        #expect(frames.value.map(\.header.version) == [.one, .two, .two, .two, .two])
        #expect(frames.value.map(\.header.sequence) == [1, 2, 3, 4, 5])
        reading.cancel()
    }

    @Test func `random packets do not stop the device`() async throws {
        let (client, _) = try await device()
        #expect(try await client.echo("a") == "a")
        var random = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            var packet: [UInt8] = (0..<Int.random(in: 1...20, using: &random)).map { _ in
                .random(in: 0...255, using: &random)
            }
            packet[0] &= 0x0B
            try await client.peripheral.write(packet, to: .smp, type: .withoutResponse)
        }
        // What is incomplete is forgotten with the link.
        try await client.peripheral.disconnect()
        #expect(try await client.echo("b") == "b")
    }
}
