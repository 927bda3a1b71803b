private let watchKey: IdentityResolvingKey = given()
private let phoneKey: IdentityResolvingKey = given()
