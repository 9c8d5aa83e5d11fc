//! The HTTP clients of one configuration. They keep their connections, and are made when they are first needed.

use std::sync::Arc;
use std::time::Duration;

use dsh_llm::{LlmError, code};
use reqwest::redirect::Policy;
use reqwest::{Client, Proxy};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;
use tokio::sync::OnceCell;

use crate::config::ProxyUrl;
use crate::endpoint::Endpoint;

/// How long a connection may take, TLS included. Source: the limit that the reference's runtime has.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// A client that knows the certificates that this machine trusts, and one that is spared reading them.
#[derive(Debug, Default)]
pub(crate) struct Clients {
    plain: OnceCell<Client>,
    secure: OnceCell<Client>,
}

impl Clients {
    /// The client for an endpoint.
    ///
    /// # Errors
    /// This machine trusts no certificates, or the proxy cannot be used.
    pub(crate) async fn client(
        &self,
        endpoint: &Endpoint,
        proxy: Option<&ProxyUrl>,
    ) -> Result<&Client, LlmError> {
        let is_tls = endpoint.is_tls() || proxy.is_some();
        let (cell, make) = if is_tls {
            (&self.secure, trusting as fn() -> Result<ClientConfig, rustls::Error>)
        } else {
            (&self.plain, trusting_nobody as fn() -> Result<ClientConfig, rustls::Error>)
        };
        cell.get_or_try_init(|| async {
            let tls = tokio::task::spawn_blocking(make).await.map_err(|error| {
                LlmError::new(code::TRANSPORT, "the certificates that this machine trusts cannot be read")
                    .with_source(error)
            })?;
            let tls = tls.map_err(|error| {
                LlmError::new(
                    code::TRANSPORT,
                    format!(
                        "no certificates are known that this machine trusts, so {endpoint} cannot be asked: \
                         install the package `ca-certificates`, or name a file of them in SSL_CERT_FILE"
                    ),
                )
                .with_source(error)
            })?;
            build(tls, proxy).map_err(|error| {
                LlmError::new(code::INVALID_REQUEST, "the HTTP client cannot be made: check `proxy`")
                    .with_source(error)
            })
        })
        .await
    }
}

/// Redirects are followed by whoever asks, since a request must not lose its body.
fn build(tls: ClientConfig, proxy: Option<&ProxyUrl>) -> Result<Client, reqwest::Error> {
    let builder = Client::builder()
        .tls_backend_preconfigured(tls)
        .redirect(Policy::none())
        .referer(false)
        .connect_timeout(CONNECT_TIMEOUT);
    let builder = match proxy {
        Some(proxy) => builder.proxy(Proxy::all(proxy.reveal())?),
        None => builder.no_proxy(),
    };
    builder.build().map_err(reqwest::Error::without_url)
}

/// The cryptography is named here and not installed for the process: another part of it may have chosen its own.
fn trusting() -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let verifier = Verifier::new(provider.clone())?;
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth())
}

fn trusting_nobody() -> Result<ClientConfig, rustls::Error> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth())
}
