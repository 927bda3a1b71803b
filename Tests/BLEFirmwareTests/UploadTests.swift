import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

@Suite(.hangLimit, .tracesFailures) struct UploadTests {
    private struct Setting {
        let world: SimulatedWorld
        let client: FirmwareClient
        let device: SimulatedPeripheral
        let log: UploadLog
        let storage: MemoryFirmwareStorage
    }

    private func setting(
        mtu: Int = 247, bufferSize: Int = 1024, bufferCount: Int = 4,
        configuration: FirmwareClient.Configuration = .init()
    ) async throws -> Setting {
        let storage = MemoryFirmwareStorage()
        let device = FirmwarePeripheral(
            storage, parameters: ManagementParameters(bufferSize: bufferSize, bufferCount: bufferCount))
        let log = UploadLog()
        var definition = device.definition(name: "Device")
        definition.services = [log.recording(device.service)]
        definition.maximumATTMTU = mtu
        let world = try await SimulatedWorld()
        let (peripheral, grip) = try await world.add(definition)
        return Setting(
            world: world, client: FirmwareClient(peripheral, configuration: configuration), device: grip, log: log,
            storage: storage)
    }

    @Test(arguments: [(23, 128, 1), (23, 256, 4), (247, 128, 4), (247, 1024, 1), (247, 1024, 4), (517, 4096, 8)])
    func `an image arrives whole, once, and in the order of its bytes`(
        _ mtu: Int, _ size: Int, _ count: Int
    ) async throws {
        let setting = try await setting(mtu: mtu, bufferSize: size, bufferCount: count)
        let image = FirmwareImage.random(20_000)
        let progress = SharedValue<[UploadProgress]>([])
        for try await step in setting.client.upload(image) { progress.change { $0.append(step) } }
        #expect(await setting.storage.contents.secondary == image)
        #expect(setting.log.repeatedBytes == 0)
        let chunks = setting.log.chunks.value
        #expect(chunks.map(\.lowerBound) == [0] + chunks.dropLast().map(\.upperBound))
        #expect(progress.value.map(\.sentBytes) == progress.value.map(\.sentBytes).sorted())
        #expect(progress.value.last?.fraction == 1)
        // All frames but the first and the last fill the buffer, and all packets the link.
        #expect(chunks[1].count > size - 40)
        #expect(setting.log.packets.value.max() == min(mtu - 3, size, 512))
    }

    @Test func `as many chunks are in flight as the device has buffers, but one`() async throws {
        for (count, window) in [(1, 1), (2, 1), (4, 3), (100, 8)] {
            let most = SharedValue(0)
            let image = FirmwareImage.random(5_000)
            let waiting = SharedValue<[SMPFrame]>([])
            // Answers when no further request arrives within a second.
            let device = ScriptedDevice { request in
                switch request.header.command {
                case SMPCommand(.os, 6): return [request.response(["buf_size": 256, "buf_count": CBOR(count)])]
                default:
                    waiting.change { $0.append(request) }
                    return []
                }
            }
            let world = try await SimulatedWorld()
            var definition = device.definition
            definition.services[0].characteristics[0].onSubscribe = { [definition] notifier in
                async let other: Void? = try? definition.services[0].characteristics[0].onSubscribe?(notifier)
                while !Task.isCancelled {
                    try await notifier.clock.sleep(for: .seconds(1))
                    let frames = waiting.change { frames in
                        defer { frames = [] }
                        return frames
                    }
                    most.change { $0 = max($0, frames.count) }
                    for frame in frames {
                        let end = frame.fields["off"]!.integer! + frame.fields["data"]!.bytes!.count
                        await notifier.notify(frame.response(["off": CBOR(end)]))
                    }
                }
                await other
            }
            let (peripheral, _) = try await world.add(definition)
            let client = FirmwareClient(peripheral)
            try await world.run {
                async let upload: Void = client.upload(image).finish()
                await world.clock.run(for: .seconds(100))
                try await upload
            }
            #expect(most.value == window)
        }
    }

    @Test func `an upload goes on after three lost links, and nothing that arrived is sent again`() async throws {
        let setting = try await setting()
        let image = FirmwareImage.random(30_000)
        let fault = await setting.device.dropLink(after: .write, .nth(40))
        var attempts = 0
        var (best, isAscending) = (0, true)
        while true {
            attempts += 1
            guard attempts < 10 else { break }
            do throws(BLEError) {
                for try await step in setting.client.upload(image) {
                    isAscending = isAscending && step.sentBytes >= best
                    best = step.sentBytes
                }
                break
            } catch {
                #expect(error.code == .disconnected && error.isRetryable)
                if attempts < 3 { await setting.device.dropLink(after: .write, .nth(30)) }
            }
        }
        #expect(await fault.count == 1)
        #expect(attempts == 4 && isAscending)
        #expect(await setting.storage.contents.secondary == image)
        // The header, with which each attempt asks, and the chunks in flight that the device has not received whole.
        #expect(setting.log.repeatedBytes == 3 * FirmwareImage.headerSize)
    }

    @Test func `an upload that may reconnect survives lost links`() async throws {
        let setting = try await setting()
        let image = FirmwareImage.random(30_000)
        for number in [30, 70, 100] { await setting.device.dropLink(after: .write, .nth(number)) }
        try await setting.world.run {
            async let upload: Void = setting.client.upload(image, reconnects: 1).finish()
            await setting.world.clock.run(for: .seconds(30))
            try await upload
        }
        #expect(await setting.storage.contents.secondary == image)
        #expect(setting.log.repeatedBytes == 3 * FirmwareImage.headerSize)
    }

    @Test func `on a maintained link, an upload waits for the device`() async throws {
        let setting = try await setting()
        let image = FirmwareImage.random(30_000)
        try await setting.client.peripheral.setConnectionPolicy(.maintained())
        await setting.device.dropLink(after: .write, .nth(50))
        try await setting.world.run {
            async let upload: Void = setting.client.upload(image, reconnects: 2).finish()
            await setting.world.clock.run(for: .seconds(30))
            try await upload
        }
        #expect(await setting.storage.contents.secondary == image)
        await setting.world.central.shutDown()
    }

    @Test func `after a cancellation, the upload goes on where it was`() async throws {
        let setting = try await setting()
        let image = FirmwareImage.random(30_000)
        for try await step in setting.client.upload(image) where step.sentBytes > 10_000 { break }
        let task = Task { try await setting.client.upload(image).finish() }
        let before = setting.log.chunks.value.count
        await until { setting.log.chunks.value.count > before + 5 }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        try await setting.client.upload(image).finish()
        #expect(await setting.storage.contents.secondary == image)
    }

    @Test func `an upload that is complete is not sent again, and another one replaces it`() async throws {
        let setting = try await setting()
        let (image, other) = (FirmwareImage.random(5_000), FirmwareImage.random(5_000, seed: 2))
        try await setting.client.upload(image).finish()
        let count = setting.log.chunks.value.count
        let progress = SharedValue<[Int]>([])
        for try await step in setting.client.upload(image) { progress.change { $0.append(step.sentBytes) } }
        #expect(setting.log.chunks.value.count == count + 1)
        #expect(progress.value == [image.bytes.count])
        try await setting.client.upload(other).finish()
        #expect(await setting.storage.contents.secondary == other)
        try await setting.client.erase()
        try await setting.client.upload(other).finish()
        #expect(await setting.storage.contents.secondary == other)
    }

    @Test(arguments: [true, false])
    func `an image that the program has started or erased is sent again`(_ isStarted: Bool) async throws {
        let setting = try await setting()
        let image = FirmwareImage.random(5_000)
        try await setting.client.upload(image).finish()
        if isStarted {
            try await setting.client.confirm(hash: image.hash)
            try await setting.storage.reset()
        } else {
            try await setting.storage.erase(slot: 1)
        }
        #expect(await setting.storage.contents.secondary == nil)
        try await setting.client.upload(image).finish()
        #expect(await setting.storage.contents.secondary == image)
    }

    @Test func `lost responses and lost requests are recovered on the same link`() async throws {
        let setting = try await setting(bufferCount: 4)
        let image = FirmwareImage.random(20_000)
        await setting.device.ignore(.notify, .nth(6))
        try await setting.world.run {
            async let upload: Void = setting.client.upload(image).finish()
            await setting.world.clock.run(for: .seconds(60))
            try await upload
        }
        #expect(await setting.storage.contents.secondary == image)
    }

    @Test func `a device that stops answering ends the upload`() async throws {
        let world = try await SimulatedWorld()
        let device = ScriptedDevice { request in
            request.header.command.group == .os ? [request.response(["buf_size": 512, "buf_count": 2])] : []
        }
        let (peripheral, _) = try await world.add(device.definition)
        let client = FirmwareClient(peripheral)
        await world.run {
            async let failing: Void = {
                await expectError(.timedOut) { try await client.upload(.random(100)).finish() }
            }()
            await world.clock.run(for: .seconds(300))
            await failing
        }
    }

    static let refusals: [(CBORMap, BLEError.Code)] = [
        (["off": 0], .uploadFailed), (["off": 100_000], .uploadFailed), ([:], .invalidManagementResponse),
        (["rc": 3], .managementFailed), (["err": ["group": 1, "rc": 12]], .managementFailed),
        (["off": 172, "match": false], .uploadFailed),
    ]

    @Test(arguments: refusals)
    func `a device that does not accept the data ends the upload`(
        _ answer: CBORMap, _ code: BLEError.Code
    ) async throws {
        let world = try await SimulatedWorld()
        let device = ScriptedDevice { request in
            // Without parameters, a frame fills a packet.
            [request.response(request.header.command.group == .os ? ["rc": 8] : answer)]
        }
        let (peripheral, _) = try await world.add(device.definition)
        await expectError(code) { try await FirmwareClient(peripheral).upload(.random(100)).finish() }
        #expect(device.requests.value.count < 20)
    }

    @Test func `without parameters, each frame fits a packet, or is as short as possible`() async throws {
        for (mtu, longest) in [(23, 128), (247, 244), (517, 512)] {
            let world = try await SimulatedWorld()
            let device = ScriptedDevice { request in
                guard request.header.command.group == .image else { return [request.response(["rc": 8])] }
                let end = request.fields["off"]!.integer! + request.fields["data"]!.bytes!.count
                return [request.response(["off": CBOR(end)])]
            }
            var definition = device.definition
            definition.maximumATTMTU = mtu
            let (peripheral, _) = try await world.add(definition)
            try await FirmwareClient(peripheral).upload(.random(2000)).finish()
            #expect(device.requests.value.map(\.bytes.count).max() == longest)
        }
    }

    @Test func `frames that are too short for an upload are refused before anything is sent`() async throws {
        let setting = try await setting(configuration: .init(maximumFrameLength: 60))
        await expectError(.invalidLength) { try await setting.client.upload(.random(100)).finish() }
        #expect(setting.log.chunks.value.isEmpty)
    }

    @Test(arguments: [23, 247, 517]) func `a long response arrives in packets of the link`(_ mtu: Int) async throws {
        let setting = try await setting(mtu: mtu, bufferSize: 4096)
        let bytes = FirmwareImage.random(20_000).bytes
        try await setting.client.upload(bytes, toFile: "/a").finish()
        #expect(try await setting.client.download("/a") == bytes)
    }

    @Test func `a file goes on after a lost link`() async throws {
        let setting = try await setting()
        let bytes = FirmwareImage.random(20_000).bytes
        await setting.device.dropLink(after: .write, .nth(30))
        await expectError(.disconnected) { try await setting.client.upload(bytes, toFile: "/a").finish() }
        let arrived = try await setting.client.fileLength("/a")
        #expect(arrived > 1000)
        try await setting.client.upload(bytes, toFile: "/a").finish()
        #expect(await setting.storage.contents.files["/a"] == bytes)
        #expect(setting.log.repeatedBytes == 0)
        // A file whose beginning differs is replaced.
        try await setting.client.upload(Array(bytes.reversed()), toFile: "/a").finish()
        #expect(await setting.storage.contents.files["/a"] == bytes.reversed())
    }
}
