public import BLE
internal import Logging

/// A channel number at which a host accepts channels.
struct PublishedChannel {
    let options: ChannelOptions
    let accept: @Sendable (any ChannelTransport, DeviceID, PSM) -> Void
    let onEnd: @Sendable (BLEError) -> Void
    /// The address of the adapter at which the host listens; nil while it does not listen.
    var own: ChannelAddress?
    /// Nil until the host listens for the first time.
    var listening: ListeningChannel?
    /// Whether listening begins, or is being moved to the address of the adapter in use.
    var isMoving = false
}

extension BlueZPeripheral {
    /// Listens on an L2CAP socket of the kernel, which outlives bluetoothd.
    public func publishChannel(
        _ psm: PSM?, _ options: ChannelOptions, as publication: Int,
        accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> PSM {
        let own = try ownAddress()
        // Known before it listens: accepting may fail, or another adapter be in use, before this goes on.
        published[publication] = PublishedChannel(options: options, accept: accept, onEnd: onEnd, isMoving: true)
        let listening: ListeningChannel
        do throws(BLEError) {
            listening = try await listen(at: own, psm, options, publication, accept)
        } catch {
            published[publication] = nil
            throw error
        }
        guard published[publication] != nil else {
            listening.close()
            guard isStarted else { throw .shutDown }
            // Accepting has failed, which was reported to `onEnd`.
            return listening.psm
        }
        published[publication]?.own = own
        published[publication]?.listening = listening
        published[publication]?.isMoving = false
        if (try? ownAddress()) != own { followAdapter() }
        return listening.psm
    }

    private func listen(
        at own: ChannelAddress, _ psm: PSM?, _ options: ChannelOptions, _ publication: Int,
        _ accept: @escaping @Sendable (any ChannelTransport, DeviceID, PSM) -> Void
    ) async throws(BLEError) -> ListeningChannel {
        let listening = try await stack.channelSockets.listen(
            at: own, psm, options, on: stack.loop,
            accept: { [weak self] socket, address, psm in
                self?.assumeIsolated { peripheral in
                    let device = peripheral.path(ofCentral: address)
                    accept(peripheral.transport(socket, device: device), DeviceID(devicePath: device), psm)
                }
            },
            onFailure: { [weak self] error, _ in self?.assumeIsolated { $0.listeningFailed(publication, error) } },
            isolation: self)
        // The role may have been shut down meanwhile.
        guard isStarted else {
            listening.close()
            throw .shutDown
        }
        return listening
    }

    /// Closes the listening socket.
    public func unpublishChannel(_ publication: Int) async {
        published.removeValue(forKey: publication)?.listening?.close()
    }

    func unpublishChannels() {
        for channel in published.values { channel.listening?.close() }
        published = [:]
    }

    /// Listens at the address of the adapter in use, which may not be the same adapter as before. Called when it is
    /// powered on.
    func followAdapter() {
        for (publication, channel) in published where !channel.isMoving {
            published[publication]?.isMoving = true
            Task { await move(publication) }
        }
    }

    /// Moves one publication until it listens at the address of the adapter that is then in use.
    ///
    /// Only one such task runs for a publication, so that each socket is closed before the next is made: the kernel
    /// does not permit two sockets with the same number and address.
    private func move(_ publication: Int) async {
        defer { published[publication]?.isMoving = false }
        while let channel = published[publication], let former = channel.listening, let own = try? ownAddress(),
            channel.own != own
        {
            former.close()
            published[publication]?.own = nil
            do throws(BLEError) {
                let listening = try await listen(
                    at: own, former.psm, channel.options, publication, channel.accept)
                guard published[publication] != nil else { return listening.close() }
                published[publication]?.own = own
                published[publication]?.listening = listening
            } catch  where (try? ownAddress()) != own {
                // The adapter is gone or was replaced. The publication moves when there is one again.
            } catch {
                return listeningFailed(publication, error)
            }
        }
    }

    /// Returns the path of a central, even if bluetoothd has not signaled its object yet.
    private func path(ofCentral address: String) -> String {
        objects.device(address: address, adapter: adapterPath)
            ?? "\(adapterPath)/dev_\(String(address.map { $0 == ":" ? "_" : $0 }))"
    }

    private func listeningFailed(_ publication: Int, _ error: BLEError) {
        guard let channel = published.removeValue(forKey: publication) else { return }
        channel.listening?.close()
        channel.onEnd(error)
    }
}
