#if DeviceCommands
    import ArgumentParser
    import BLE
    import BLEFirmware
    import FoundationEssentials

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

        @Argument(help: idHelp)
        var id: String

        @Argument(
            help: ArgumentHelp("The signed image. Without it, the device's images are listed.", valueName: "file"))
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
            let firmware = try image.map { try Self.read($0) }
            let (id, timeout, restart) = (id, options.timeoutDuration, Duration.seconds(restart))
            let starts = !uploadOnly
            try await Session.run(options) { central, output in
                let peripheral = try await Finder(central: central, output: output, timeout: timeout).find(id)
                let client = FirmwareClient(peripheral)
                let update = FirmwareUpdate(
                    client: client, output: output.about(peripheral), clock: CommandClock.current)
                guard let firmware else { return try await update.list() }
                try await update.upload(firmware)
                if starts { try await update.start(firmware, within: restart) }
            }
        }

        private static func read(_ path: String) throws -> FirmwareImage {
            let data: Data
            do {
                data = try Data(contentsOf: URL(filePath: path))
            } catch {
                throw ValidationError("\(path) is not a readable file.")
            }
            do throws(FirmwareImageError) {
                return try FirmwareImage(decoding: Array(data))
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

        /// The pause before a device that is restarting is asked again.
        private static let pause = Duration.seconds(2)
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

        func upload(_ firmware: FirmwareImage) async throws {
            let stopwatch = clock.stopwatch()
            var meter = TransferMeter(total: firmware.bytes.count)
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
            _ = try await client.test(hash: firmware.hash)
            try await client.reset()
            await client.close()
            // Otherwise, the system may take the former link for that of the new image.
            try? await client.peripheral.disconnect()
            try await output.progress.during("Waiting for the device with the new image", limit: limit) {
                while true {
                    try await clock.sleep(for: Self.pause)
                    if try await isRunning(firmware) { return }
                    guard stopwatch() < limit else {
                        throw BLEError(
                            .timedOut, "the device is not back within \(Self.text(limit / .seconds(1))) s",
                            remedy:
                                "Use a longer --restart. Without a file, ble update lists the device's images."
                        )
                    }
                }
            }
            let confirmed = FirmwareClient(client.peripheral)
            try await confirmed.confirm()
            await confirmed.close()
            let seconds = stopwatch() / .seconds(1)
            try tell(
                "confirmed", firmware, seconds,
                "the device runs \(firmware.version), which is confirmed, after \(Self.text(seconds)) s")
        }

        /// Whether the device runs the image. False while it cannot be asked, or still waits for its reset.
        private func isRunning(_ firmware: FirmwareImage) async throws -> Bool {
            let client = FirmwareClient(client.peripheral)
            let slots: [ImageSlot]
            do throws(BLEError) {
                slots = try await client.imageSlots()
            } catch {
                await client.close()
                if error.isCancellation { throw error }
                return false
            }
            await client.close()
            if slots.contains(where: { $0.isActive && $0.hash == firmware.hash }) { return true }
            if slots.contains(where: { $0.isPending && $0.hash == firmware.hash }) { return false }
            throw BLEError(
                .uploadFailed, "the device has not started the image, or has returned to the one before",
                remedy: "Check that the image is signed with the key of the bootloader.")
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

    extension Clock<Duration> {
        /// Returns a function for the time since now.
        fileprivate func stopwatch() -> () -> Duration {
            let start = now
            return { start.duration(to: now) }
        }
    }
#endif
