import BLEDefinitions

#if DeviceCommands
    import ArgumentParser
    import BLE
    import BLEFirmware

    struct UpdateCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "update", abstract: "Update the firmware of a device with MCUboot, or list its images.",
            discussion: """
                The image is a file that imgtool has signed, such as zephyr.signed.bin. It is sent over the Simple \
                Management Protocol (SMP) of MCUmgr; an upload that was interrupted goes on where it has ended. The \
                device then starts the image once, and the image is confirmed when the device is back with it. A \
                device that is not back within --restart seconds, or comes back with the image before, is an error: \
                nothing is confirmed, so the device returns to the image before at its next reset.
                """)

        @OptionGroup var options: CommonOptions

        @Argument(help: idHelp, completion: .peripherals)
        var id: String

        @Argument(
            help: ArgumentHelp("The signed image. Without it, the device's images are listed.", valueName: "file"),
            completion: .file())
        var image: String?

        @Flag(help: "Upload the image, and do not start it.")
        var uploadOnly = false

        @Option(
            help: ArgumentHelp(
                "The maximum time that the device takes to exchange the images and to be back.", valueName: "seconds"))
        var restart = 300.0

        func validate() throws {
            guard restart > 0, restart <= 86_400 else {
                throw ValidationError("--restart \(restart): more than 0 and at most 86400 seconds.")
            }
            guard image != nil || !uploadOnly else { throw ValidationError("--upload-only needs an image.") }
        }

        func run() async throws {
            let firmware: FirmwareImage? = if let image { try await Self.read(image) } else { nil }
            let (id, timeout, restart) = (id, options.timeoutDuration, Duration.seconds(restart))
            let starts = !uploadOnly
            try await Session.run(options) { central, output in
                let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
                let client = FirmwareClient(peripheral)
                let update = FirmwareUpdate(
                    client: client, output: output.about(peripheral), clock: CommandClock.current)
                guard let firmware else { return try await update.list() }
                // One that was interrupted goes on.
                if try await update.needsUpload(of: firmware) { try await update.upload(firmware) }
                if starts { try await update.start(firmware, within: restart) }
            }
        }

        /// The size of the largest file, in bytes.
        private static let limit = 1 << 28

        private static func read(_ path: String) async throws -> FirmwareImage {
            let bytes: [UInt8]
            do {
                bytes = try await InputFile.read(path, limit: limit)
            } catch let error as InputFile.Failure {
                throw ValidationError("\(path) \(error).")
            }
            do throws(FirmwareImageError) {
                return try FirmwareImage(decoding: bytes)
            } catch {
                throw ValidationError("\(path): \(BLEError(error).message)")
            }
        }
    }

    /// The steps of an update, each of which tells what it has done.
    private struct FirmwareUpdate {
        let client: FirmwareClient
        let output: Output
        let clock: any Clock<Duration>

        /// How many lost links in a row an upload survives.
        private static let reconnects = 10

        func list() async throws {
            let slots = try await output.progress.during("Asking for the images") { try await client.imageSlots() }
            for slot in slots {
                let flags = [
                    (slot.isActive, "running"), (slot.isConfirmed, "confirmed"), (slot.isPending, "pending"),
                    (slot.isPermanent, "permanent"), (!slot.isBootable, "not bootable"),
                ]
                let hash = slot.hash.map { Hex.string($0) }
                let words = ["image \(slot.image) slot \(slot.slot)", slot.version]
                try output.line(
                    .object([
                        "image": .int(slot.image), "slot": .int(slot.slot), "imageVersion": .string(slot.version),
                        "hash": .optional(hash), "isActive": .bool(slot.isActive),
                        "isConfirmed": .bool(slot.isConfirmed), "isPending": .bool(slot.isPending),
                        "isPermanent": .bool(slot.isPermanent), "isBootable": .bool(slot.isBootable),
                    ]),
                    (words + [
                        flags.filter(\.0).map(\.1).joined(separator: ", "), hash.map { String($0.prefix(16)) } ?? "",
                    ])
                    .filter { !$0.isEmpty }.joined(separator: "  "))
            }
        }

        func needsUpload(of firmware: FirmwareImage) async throws -> Bool {
            try await output.progress.during("Asking for the images") {
                try await client.needsUpload(of: firmware, reconnects: Self.reconnects)
            }
        }

        func upload(_ firmware: FirmwareImage) async throws {
            let stopwatch = clock.stopwatch()
            var meter = TransferMeter("Uploading", total: firmware.bytes.count)
            defer { output.progress.clear() }
            for try await progress in client.upload(firmware, reconnects: Self.reconnects) {
                meter.take(progress.sentBytes, at: stopwatch())
                output.progress.show(meter.line)
            }
            output.progress.clear()
            let seconds = stopwatch() / .seconds(1)
            try tell("uploaded", firmware, seconds, "uploaded \(firmware.bytes.count) bytes in \(Self.text(seconds)) s")
        }

        /// Starts the image once, and confirms it when the device is back with it.
        func start(_ firmware: FirmwareImage, within limit: Duration) async throws {
            let stopwatch = clock.stopwatch()
            try await output.progress.during("Waiting for the device with the new image", limit: limit) {
                try await client.start(firmware, within: limit)
            }
            let seconds = stopwatch() / .seconds(1)
            try tell(
                "confirmed", firmware, seconds,
                "the device runs \(firmware.version), which is confirmed, after \(Self.text(seconds)) s")
        }

        private func tell(_ event: String, _ firmware: FirmwareImage, _ seconds: Double, _ text: String) throws {
            try output.line(
                .object([
                    "event": .string(event), "imageVersion": .string("\(firmware.version)"),
                    "hash": .hex(firmware.hash), "bytes": .int(firmware.bytes.count),
                    "seconds": .double((seconds * 1000).rounded() / 1000),
                ]), text)
        }

        private static func text(_ seconds: Double) -> String { "\((seconds * 10).rounded() / 10)" }
    }
#endif
