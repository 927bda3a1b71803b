extension MessageCommand {
    fileprivate static let switchLight = MessageCommand(rawValue: 0x0104)
}

private final class LightFeature: Feature {
    static let commands: Set<MessageCommand> = [.switchLight]
    let handler: MessageHandler
    init(handler: MessageHandler) { self.handler = handler }
    func set(on isOn: Bool) async throws {}
}
