extension Central {
    /// Creates a central that uses several radios: it scans with all of them, makes each link with the radio that hears
    /// the peripheral best, and with another if that fails or goes. Docs/Radios.md has the rules.
    ///
    /// A peripheral is the same whichever radio hears it: its id is its address. What concerns “the adapter in use”
    /// concerns all of them: the state is that of the best, and powering off without naming an adapter powers off all.
    /// With one radio, the central is the same as with its backend.
    ///
    /// A radio that is not there yet is tried again as long as another is.
    ///
    /// Throws the first radio's error if none can be used, `unauthorized` if one is refused, and `invalidArgument` if
    /// they cannot be used together: two have the same name, or there is none.
    public init(radios: [Radio], configuration: Configuration = Configuration()) async throws(BLEError) {
        guard !radios.isEmpty, Set(radios.map(\.name)).count == radios.count else {
            throw BLEError(
                .invalidArgument, radios.isEmpty ? "a central needs a radio" : "two radios have the same name",
                isRetryable: false, remedy: "Give at least one radio, and each a name of its own.")
        }
        if radios.count > 1 {
            try await self.init(severalRadios: radios, configuration: configuration)
        } else {
            try await self.init(backend: radios[0].makeBackend([]), configuration: configuration)
        }
    }

    /// Creates a central that has what only those of several radios have, also with one.
    ///
    /// - Parameter radios: at least one, with unique names.
    package init(severalRadios radios: [Radio], configuration: Configuration) async throws(BLEError) {
        var backends: [any CentralBackend] = []
        for radio in radios { backends.append(radio.makeBackend(backends)) }
        let named = zip(radios, backends).map { (name: $0.name, backend: $1) }
        try await self.init(
            backend: RadiosBackend(named, restarts: radios.map(\.restart)), configuration: configuration)
    }

    /// The names of the radios, in order. Empty for a central that was created with a backend, or with one radio.
    public nonisolated var radioNames: [String] { several?.names ?? [] }

    /// The states of the radios, in order. Empty for a central that was created with a backend, or with one radio.
    public var radios: [RadioStatus] { several?.assumeIsolated { $0.statuses } ?? [] }

    /// What happens to the radios, from now on. Keeps the newest 64 unread events.
    ///
    /// Ends at once for a central that was created with a backend, or with one radio: ``adapterStates()`` and
    /// `DiscoveryEvent.waiting` say what concerns that.
    public func radioEvents() -> BoundedStream<RadioEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        guard let several else { return Observers.ended() }
        return several.assumeIsolated { several in
            several.events { [weak several] token in Task { await several?.removeObserver(token) } }
        }
    }

    nonisolated var several: RadiosBackend? { backend as? RadiosBackend }

    /// The name of the radio that has the link to a peripheral, or makes it. Nil if the central has no several radios.
    func linkRadio(of id: Peripheral.ID) -> String? { several?.assumeIsolated { $0.linkRadio(of: id) } }
}

extension Peripheral {
    /// The radios' ways to this peripheral: what each hears of it, and whether a link would be made with it, the best
    /// first. Empty if the central has no several radios.
    public var radioPaths: [RadioPath] {
        get async { await central.several?.paths(to: id) ?? [] }
    }

    /// The name of the radio that has the link to this peripheral, or makes it. Nil without a link, and if the central
    /// has no several radios.
    public var radio: String? {
        get async { await central.linkRadio(of: id) }
    }

    /// Sets the radios with which links to this peripheral are made, from the next link on.
    ///
    /// A paired peripheral also needs a radio that has its keys: if none of these has them, connecting throws
    /// `invalidArgument`.
    ///
    /// Throws `invalidArgument` if the central does not have one of the radios, or if the set is empty.
    ///
    /// - Parameter names: the radios' names; nil for all.
    public func setRadios(_ names: Set<String>?) async throws(BLEError) {
        if let several = central.several { return try await several.setRadios(names, for: id) }
        guard names == nil else {
            throw BLEError(
                .invalidArgument, "the central does not have several radios", peripheral: id, isRetryable: false,
                remedy: "Create it with Central(radios:).")
        }
    }
}

extension Discovery {
    /// The name of the radio that has received the advertisement. Nil if the central has no several radios.
    public var radio: String? {
        guard let names = peripheral.central.several?.names, names.indices.contains(Int(advertisement.radio)) else {
            return nil
        }
        return names[Int(advertisement.radio)]
    }

    /// The radios' ways to the peripheral, as of now; see ``Peripheral/radioPaths``.
    public var paths: [RadioPath] {
        get async { await peripheral.radioPaths }
    }
}
