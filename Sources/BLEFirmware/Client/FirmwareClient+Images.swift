public import BLE

/// The firmware images.
extension FirmwareClient {
    /// Returns the images on the device, and what the bootloader will do with them.
    public func imageSlots() async throws(BLEError) -> [ImageSlot] {
        try Self.slots(try await session.request(.read, .imageState))
    }

    /// Has the bootloader start an image once, at the next reset. Unless the image is confirmed, the reset after that
    /// returns to the present one. Returns the images.
    ///
    /// - Parameter hash: that of the image, ``FirmwareImage/hash``, of 32, 48 or 64 bytes.
    @discardableResult
    public func test(hash: [UInt8]) async throws(BLEError) -> [ImageSlot] {
        let fields: CBORMap = ["hash": .bytes(hash), "confirm": false]
        return try Self.slots(try await session.request(.write, .imageState, fields))
    }

    /// Makes an image permanent. Returns the images.
    ///
    /// - Parameter hash: that of the image. Nil for the running one, which is the safe choice: an image that was never
    ///   started may not work.
    @discardableResult
    public func confirm(hash: [UInt8]? = nil) async throws(BLEError) -> [ImageSlot] {
        var fields: CBORMap = ["confirm": true]
        if let hash { fields["hash"] = .bytes(hash) }
        return try Self.slots(try await session.request(.write, .imageState, fields))
    }

    /// Erases a slot. A device may take as long as ``Configuration/eraseTimeout``.
    ///
    /// - Parameter slot: the number of the slot, 1 for the secondary one.
    public func erase(slot: Int = 1) async throws(BLEError) {
        _ = try await session.request(
            .write, .imageErase, ["slot": CBOR(slot)], timeout: session.configuration.eraseTimeout)
    }

    /// Returns the sizes of the slots, in bytes.
    public func slotSizes() async throws(BLEError) -> [ImageSlotSize] {
        var sizes: [ImageSlotSize] = []
        for item in try await session.request(.read, .slotInfo).required("images", \.array) {
            guard let image = item.map else { throw .lacking(field: "images") }
            for slot in try image.required("slots", \.array) {
                guard let slot = slot.map else { throw .lacking(field: "slots") }
                sizes.append(
                    ImageSlotSize(
                        image: try image.required("image", \.integer), slot: try slot.required("slot", \.integer),
                        bytes: try slot.required("size", \.integer),
                        uploadImage: slot["upload_image_id"]?.integer))
            }
        }
        return sizes
    }

    /// Uploads an image into the free slot. The upload begins with the iteration.
    ///
    /// If the device has a part of the same image, the upload goes on after it: call again after a lost link or a
    /// cancellation. Chunks fill the device's buffers, and several are in flight if it has several
    /// (``ManagementParameters``); a device that does not report them receives one packet at a time.
    ///
    /// If the device is busy or out of memory, the request is sent again after a pause, of 0.5 s at first and at most
    /// 8 s, up to 8 times in a row without progress; then `managementFailed` is thrown.
    ///
    /// Throws `uploadFailed` if the device does not accept the data, or if what it received has another hash, and
    /// `invalidLength` if the frames are too short for the first request.
    ///
    /// - Parameters:
    ///   - image: the number of the image, for devices with several. 0 for the others.
    ///   - isUpgrade: whether the device shall refuse an image whose version is not higher than that of the present
    ///     one.
    ///   - reconnects: how many lost links in a row, without progress in between, the upload survives, from 0. It
    ///     connects again after 1 s, or waits for the link if it is maintained.
    public func upload(
        _ firmware: FirmwareImage, image: Int = 0, isUpgrade: Bool = false, reconnects: Int = 0
    ) -> FirmwareUpload {
        let (digest, total) = (firmware.digest, firmware.bytes.count)
        let plan = UploadPlan(
            bytes: firmware.bytes, command: .imageUpload, firstLength: FirmwareImage.headerSize,
            firstTimeout: session.configuration.eraseTimeout, reconnects: reconnects
        ) { offset in
            var fields: CBORMap = ["off": CBOR(offset)]
            guard offset == 0 else { return fields }
            fields["len"] = CBOR(total)
            fields["sha"] = .bytes(digest)
            fields["image"] = CBOR(image)
            if isUpgrade { fields["upgrade"] = true }
            return fields
        }
        return FirmwareUpload { [self] (report) throws(BLEError) in try await session.upload(plan, report) }
    }

    private static func slots(_ fields: CBORMap) throws(BLEError) -> [ImageSlot] {
        var slots: [ImageSlot] = []
        for item in try fields.required("images", \.array) { slots.append(try ImageSlot(item)) }
        return slots
    }
}
