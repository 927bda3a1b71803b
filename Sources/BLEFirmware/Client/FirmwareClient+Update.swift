public import BLE

/// Updates.
extension FirmwareClient {
    /// The pause before a device that is restarting is asked again.
    private static let pause = Duration.seconds(2)

    /// Updates the firmware: uploads an image, has the bootloader start it once, and confirms it when the device is
    /// back with it.
    ///
    /// An update that was interrupted goes on when it is called again, also if the device has started the image
    /// meanwhile. Throws what ``upload(_:image:isUpgrade:reconnects:)`` and ``start(_:within:)`` throw.
    ///
    /// - Parameters:
    ///   - image: the number of the image, for devices with several. 0 for the others.
    ///   - isUpgrade: whether the device shall refuse an image whose version is not higher than that of the present
    ///     one.
    ///   - restart: the maximum time that the device takes to exchange the images and to be back, which may be minutes.
    ///   - reconnects: how many lost links and failed attempts to connect in a row, without progress in between, the
    ///     upload and the question before it survive, from 0.
    ///   - progress: called with the progress of the upload.
    public func update(
        _ firmware: FirmwareImage, image: Int = 0, isUpgrade: Bool = false, restart: Duration = .seconds(300),
        reconnects: Int = 3, progress: @Sendable (UploadProgress) -> Void = { _ in }
    ) async throws(BLEError) {
        if try await needsUpload(of: firmware, reconnects: reconnects) {
            for try await step in upload(firmware, image: image, isUpgrade: isUpgrade, reconnects: reconnects) {
                progress(step)
            }
        }
        try await start(firmware, within: restart)
    }

    /// Starts an image that was uploaded: has the bootloader start it once, resets the device, and confirms the image
    /// when the device is back with it. An image that runs already is only confirmed.
    ///
    /// Throws `timedOut` if the device is not back in time, and `uploadFailed` if it is back with the image before;
    /// nothing is confirmed then, so that it returns to the image before at its next reset.
    ///
    /// - Parameter restart: the maximum time that the device takes to exchange the images and to be back.
    public func start(_ firmware: FirmwareImage, within restart: Duration = .seconds(300)) async throws(BLEError) {
        let elapsed = Central.stopwatch(session.clock)
        let slots = try await imageSlots()
        if let running = slots.first(where: { $0.isActive && $0.hash == firmware.hash }) {
            if !running.isConfirmed { try await confirm() }
            return
        }
        if !slots.contains(where: { $0.isPending && $0.hash == firmware.hash }) { try await test(hash: firmware.hash) }
        do throws(BLEError) {
            try await reset()
        } catch  where [.disconnected, .timedOut].contains(error.code) {
            // The device may have reset before its answer was sent.
        }
        // Otherwise, the system may take the former link for that of the new image.
        try? await peripheral.disconnect()
        repeat {
            guard elapsed() < restart else {
                throw BLEError(
                    .timedOut, "the device is not back within \(restart)",
                    remedy: "Allow more time for the restart. The device's images tell what it runs."
                ).at(peripheral.id)
            }
            guard (try? await session.clock.sleep(for: Self.pause)) != nil else { throw .cancelled }
        } while try await !isRunning(firmware)
        try await confirm()
    }

    /// Whether an image must be uploaded before it can be started: the device neither runs it, nor starts it with its
    /// next reset. It refuses an upload meanwhile, because both of its slots are in use. A device that does not answer
    /// is asked again, as often as the upload would be repeated.
    package func needsUpload(of firmware: FirmwareImage, reconnects: Int) async throws(BLEError) -> Bool {
        var retries = UploadRetries(reconnects: reconnects)
        while true {
            do throws(BLEError) {
                return try await !imageSlots().contains { ($0.isActive || $0.isPending) && $0.hash == firmware.hash }
            } catch {
                if Task.isCancelled { throw .cancelled }
                guard let retry = retries.next(after: error) else { throw error }
                guard (try? await session.clock.sleep(for: retry.pause)) != nil else { throw .cancelled }
            }
        }
    }

    /// Whether the device runs an image. False while it cannot be asked, or still waits for its reset.
    private func isRunning(_ firmware: FirmwareImage) async throws(BLEError) -> Bool {
        let slots: [ImageSlot]
        do throws(BLEError) {
            slots = try await imageSlots()
        } catch {
            // A client that was closed, and a central that has shut down, stay so.
            if error.isCancellation || [.connectionCancelled, .shutDown].contains(error.code) { throw error }
            return false
        }
        if slots.contains(where: { $0.isActive && $0.hash == firmware.hash }) { return true }
        if slots.contains(where: { $0.isPending && $0.hash == firmware.hash }) { return false }
        throw BLEError(
            .uploadFailed, "the device has not started the image, or has returned to the one before",
            remedy: "Check that the image is signed with the key of the bootloader."
        ).at(peripheral.id)
    }
}
